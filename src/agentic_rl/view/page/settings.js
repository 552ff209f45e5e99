// What the run was: its configuration and the versions of what it ran with.

function settingsView() {
  const { folder, configuration, versions } = state.run;
  return el(
    "section.page",
    null,
    el("p", null, el("code", null, folder)),
    el("h2", null, "Configuration"),
    configuration ? el("pre.text.card", null, configuration) : el("p.empty", null, "config.resolved.yaml is missing."),
    el("h2", null, "Versions"),
    versions ? el("pre.text.card", null, versions) : el("p.empty", null, "versions.json is missing."),
  );
}
