// Which language the page speaks: the one the link asks for, else the one chosen here before, else the browser's. What
// speaks it is loaded at once where it is not English.
{
  let chosen;
  try {
    chosen = localStorage['shardscope.language'];
  } catch { /* a frame without storage */ }
  const inLink = /[#?&]view\.lang=(\w+)/.exec(location.hash || location.search)?.[1];
  // Simplified Chinese is no help to who reads Traditional.
  const browsers = /^zh(?!.*(TW|HK|MO|Hant))/.test(navigator.language) ? 'zh' : 'en';
  // In a sandboxed frame this script has no address of its own.
  const load = (file) => import(new URL(`lazy/${file}.js`, document.baseURI));
  if ((inLink ?? chosen ?? browsers) === 'zh') {
    // Nobody sees it in English first, and everybody sees it, whatever fails.
    const { style } = document.documentElement;
    style.visibility = 'hidden';
    load('tongue').then(({ speak }) => speak('zh')).catch(() => {}).finally(() => { style.visibility = ''; });
  }
  addEventListener('TrunkApplicationStarted', () => load('manners').catch(() => {}));
}
