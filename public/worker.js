// A worker of the page: runs the same module and takes jobs, see src/web/worker. The page sends it the module first.
addEventListener('message', async ({ data: { url, module } }) => {
  const calculator = await import(url);
  await calculator.default({ module_or_path: module });
  calculator.serveJobs();
}, { once: true });
// The page learns of a fault by the worker's error event.
addEventListener('unhandledrejection', ({ reason }) => reportError(reason));
