// A worker of the page: runs the same module and takes jobs or a file, see src/web/worker. The page sends it the
// module first, and the name of the function that serves.
addEventListener('message', async ({ data: { url, module, serves } }) => {
  const calculator = await import(url);
  await calculator.default({ module_or_path: module });
  calculator[serves]();
}, { once: true });
// The page learns of a fault by the worker's error event.
addEventListener('unhandledrejection', ({ reason }) => reportError(reason));
