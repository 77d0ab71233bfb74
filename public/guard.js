// What is said when the calculator cannot start or has stopped: the words are in index.html, shown by their data-when.
const find = (id) => document.getElementById(id);
const { build } = document.currentScript.dataset;

function stop(when, what) {
  const { dataset } = document.body;
  if (dataset.stopped) return;
  dataset.stopped = when;
  find('crash-link').href = find('crash-link').textContent = location.href;
  find('crash-report').value = [what, build, location.href, navigator.userAgent].join('\n');
}

function failed({ target, message, error, reason }) {
  // A picture or a style sheet that is missing stops nothing.
  if (target.rel) return;
  const what = `${message || reason || target.src || 'a module'} ${(error || reason || '').name || ''}`;
  if (/panicked at|RuntimeError/.test(what)) stop('fault', what);
  else if (!find('skeleton')) return;
  else if (/Compile|Link|Syntax|WebAssembly is/.test(what)) stop('old', what);
  else stop('missing', what);
}

addEventListener('error', failed, true);
addEventListener('unhandledrejection', failed);
addEventListener('load', () => {
  find('crash-reload').onclick = () => location.reload();
  find('crash-copy').onclick = ({ target }) => {
    find('crash-report').select();
    target.textContent = document.execCommand('copy') ? 'Copied' : 'Select and copy';
  };
  // Only what `make build` wrote has a copy to keep.
  if (build && top === self) import('./lazy/update.js').catch(() => {});
});
