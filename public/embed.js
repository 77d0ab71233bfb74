// <shardscope-embed run="tp=4&pp=2" panel="timeline" theme="dark">: the calculator, as high as it is
// run: link, fragment or JSON; panel: as view.embed names it, or all; theme: light, dark;
// lang: en, zh; lesson: zero.collectives; sliders: n.8. "shardscope" answers set() and get() in `detail`.
const asked = ['run', 'panel', 'theme', 'lang', 'lesson', 'sliders'];

customElements.define('shardscope-embed', class extends HTMLElement {
  static observedAttributes = asked;
  #frame = document.createElement('iframe');
  #alive;

  constructor() {
    super();
    Object.assign(this.#frame, { title: 'Shardscope', height: 640, style: 'display:block;border:0;width:100%' });
    this.attachShadow({ mode: 'open' }).append(this.#frame);
  }

  connectedCallback() {
    const { link = '', run, panel: embed, ...said } = this.#said();
    const view = Object.entries({ embed, ...said }).map(([key, is]) => (is ? `&view.${key}=${is}` : ''));
    this.#alive = false;
    this.#frame.src = `${new URL('.', import.meta.url)}#${link.replace(/^.*#/, '')}${view.join('')}`;
    addEventListener('message', this);
  }

  disconnectedCallback() { removeEventListener('message', this); }
  attributeChangedCallback() { if (this.#alive) this.set(this.#said()); }

  #said() {
    const { run, ...said } = Object.fromEntries(asked.map((name) => [name, this.getAttribute(name) ?? undefined]));
    said.panel ??= 'all';
    return { ...said, ...(run?.startsWith('{') ? { run } : { link: run ?? '' }) };
  }

  handleEvent({ source, data }) {
    if (source !== this.#frame.contentWindow) return;
    if (data?.type === 'shardscope:height') {
      this.#frame.height = data.px;
      if (data.first) this.set(this.#said());
      this.#alive = true;
    } else if (data?.type === 'shardscope:run') this.dispatchEvent(new CustomEvent('shardscope', { detail: data }));
  }

  set(what) { this.#ask('set', what); }
  get() { this.#ask('get'); }
  #ask(name, what) { this.#frame.contentWindow?.postMessage({ ...what, type: `shardscope:${name}` }, '*'); }
});
