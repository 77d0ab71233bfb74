// <shardscope-embed run="tp=4&pp=2" panel="timeline" theme="dark">: the calculator in a frame as high as its content.
// run: a link, or what stands behind its #, or a Run as JSON; panel: memory, timeline, overlap, strip, all; theme: light,
// dark. All may change. set({ run }) and get() are answered by the event "shardscope", in its `detail`.
const home = new URL('.', import.meta.url).href;

customElements.define('shardscope-embed', class extends HTMLElement {
  static observedAttributes = ['run', 'panel', 'theme'];
  #frame = document.createElement('iframe');
  #alive;

  constructor() {
    super();
    Object.assign(this.#frame, { title: 'Shardscope', height: 400, style: 'display:block;border:0;width:100%' });
    this.attachShadow({ mode: 'open' }).append(this.#frame);
  }

  connectedCallback() {
    const { link = '', panel, theme } = this.#said();
    this.#alive = false;
    this.#frame.src = `${home}#${link.replace(/^.*#/, '')}&view.embed=${panel}${theme ? `&view.theme=${theme}` : ''}`;
    addEventListener('message', this);
  }

  disconnectedCallback() { removeEventListener('message', this); }

  attributeChangedCallback() { if (this.#alive) this.set(this.#said()); }

  /** What the attributes ask for. */
  #said() {
    const [run, panel = 'all', theme] = ['run', 'panel', 'theme'].map((name) => this.getAttribute(name) ?? undefined);
    if (!run?.startsWith('{')) return { panel, theme, link: run ?? '' };
    // What is no JSON goes as it is: the frame says what is wrong.
    try {
      return { panel, theme, run: JSON.parse(run) };
    } catch {
      return { panel, theme, run };
    }
  }

  handleEvent({ source, data }) {
    if (source !== this.#frame.contentWindow) return;
    if (data?.type === 'shardscope:height') {
      this.#frame.height = data.px;
      if (!this.#alive) this.set(this.#said());
      this.#alive = true;
    } else if (data?.type === 'shardscope:run') this.dispatchEvent(new CustomEvent('shardscope', { detail: data }));
  }

  set(what) { this.#ask({ ...what, type: 'shardscope:set' }); }

  get() { this.#ask({ type: 'shardscope:get' }); }

  #ask(message) { this.#frame.contentWindow?.postMessage(message, '*'); }
});
