// <shardscope-embed run="tp=4&pp=2" panel="timeline" theme="dark" lang="zh">: the calculator, as high as it is.
// run: a link, or behind its #, or a Run as JSON; panel: memory, timeline, overlap, strip, all. The event "shardscope"
// answers set({ run }) and get() in `detail`.
const asked = ['run', 'panel', 'theme', 'lang'];

customElements.define('shardscope-embed', class extends HTMLElement {
  static observedAttributes = asked;
  #frame = document.createElement('iframe');
  #alive;

  constructor() {
    super();
    Object.assign(this.#frame, { title: 'Shardscope', height: 400, style: 'display:block;border:0;width:100%' });
    this.attachShadow({ mode: 'open' }).append(this.#frame);
  }

  connectedCallback() {
    const { link = '', panel: embed, theme, lang } = this.#said();
    const view = Object.entries({ embed, theme, lang }).map(([key, is]) => (is ? `&view.${key}=${is}` : ''));
    this.#alive = false;
    this.#frame.src = `${new URL('.', import.meta.url)}#${link.replace(/^.*#/, '')}${view.join('')}`;
    addEventListener('message', this);
  }

  disconnectedCallback() { removeEventListener('message', this); }
  attributeChangedCallback() { if (this.#alive) this.set(this.#said()); }

  #said() {
    const [run = '', panel = 'all', theme, lang] = asked.map((name) => this.getAttribute(name) ?? undefined);
    const to = { panel, theme, lang };
    try {
      return run[0] === '{' ? { ...to, run: JSON.parse(run) } : { ...to, link: run };
    } catch { return { ...to, run }; }
  }

  handleEvent({ source, data }) {
    if (source !== this.#frame.contentWindow) return;
    if (data?.type === 'shardscope:height') {
      this.#frame.height = data.px;
      if (!this.#alive) this.set(this.#said());
      this.#alive = true;
    } else if (data?.type === 'shardscope:run') this.dispatchEvent(new CustomEvent('shardscope', { detail: data }));
  }

  set(what, to = 'set') { this.#frame.contentWindow?.postMessage({ ...what, type: `shardscope:${to}` }, '*'); }
  get() { this.set({}, 'get'); }
});
