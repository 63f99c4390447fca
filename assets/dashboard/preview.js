// Shows what a form with `data-previewed` describes in the preview frame, while it is edited.

const panel = document.querySelector('.preview');
const form = document.querySelector('form[data-previewed]');
const frame = panel?.querySelector('iframe');

/** Of each group of switches the chosen value, by the group's name. */
const chosen = {};

const stateOf = () => JSON.parse(panel.querySelector('[data-preview]').dataset.preview);

/** Screens of the preview, in CSS pixels; the frame is scaled down to the width of the panel. */
const screens = { phone: { width: 375, height: 700 }, desktop: { width: 1100, height: 900 } };

function layOut() {
  const { width, height } = screens[chosen.size];
  const stage = panel.querySelector('.preview-stage');
  const scale = Math.min(1, stage.clientWidth / width);
  stage.style.height = `${Math.round(height * scale)}px`;
  Object.assign(frame.style, { width: `${width}px`, height: `${height}px`, transform: `scale(${scale})` });
  frame.style.marginInlineStart = `${Math.max(0, (stage.clientWidth - width * scale) / 2)}px`;
}

/** The texts of the offer that is being edited. */
function withTyped(offers, fields) {
  const typed = Object.fromEntries(fields.map((name) => [name, form.elements[name]?.value ?? '']));
  const [first, ...others] = offers;
  return [{ ...first, ...typed, title: typed.title || typed.short_headline || message('yourHeadline') }, ...others];
}

function answer() {
  const { kind, settings, styles, appearance, offers, fields } = stateOf();
  const multi = chosen.unit === 'mou';
  const shown = kind === 'offer' ? withTyped(offers, fields) : offers;
  const scheme = appearance?.color_scheme ?? 'light';
  return {
    page: { scheme: chosen.scheme, dir: chosen.dir },
    offers: multi || kind === 'theme' ? shown : shown.slice(0, 1),
    settings: {
      ...settings,
      multi_offer_unit: multi,
      enable_usp: multi && settings.enable_usp,
      embedded: { ...settings.embedded, enabled: true },
      delay: 0,
      show_ads_on_exit: false,
    },
    styles,
    // The frame has the colours of this device; the switch is that of the user's.
    ...(appearance !== null && {
      appearance: { ...appearance, color_scheme: scheme === 'system' ? chosen.scheme : scheme },
    }),
  };
}

const post = () => frame.contentWindow.postMessage(answer(), location.origin);

let generation = 0;

/** A theme is completed by the server, which also names texts that are hard to read. */
async function update() {
  if (stateOf().kind === 'theme') {
    const current = ++generation;
    const body = new URLSearchParams(new FormData(form));
    const response = await fetch(panel.dataset.frame, { method: 'POST', body }).catch(() => null);
    if (response?.ok !== true || current !== generation) return;
    const state = new DOMParser().parseFromString(await response.text(), 'text/html');
    panel.querySelector('.preview-state').replaceChildren(...state.body.childNodes);
  }
  post();
}

let timer;
const debounceMs = 150;
const updateSoon = () => {
  clearTimeout(timer);
  timer = setTimeout(update, debounceMs);
};

function choose(name, value) {
  chosen[name] = value;
  for (const button of panel.querySelectorAll(`[data-switch="${name}"]`))
    button.setAttribute('aria-pressed', String(button.dataset.value === value));
}

/** Puts the colours of a palette into their fields, as if they were typed. */
async function makePalette(holder) {
  const path = panel.dataset.frame.replace(/preview$/, 'palette');
  const response = await fetch(path, { method: 'POST', body: new URLSearchParams(new FormData(form)) }).catch(
    () => null,
  );
  const found = document.createElement('template');
  if (response?.ok) found.innerHTML = await response.text();
  const colours = [...found.content.querySelectorAll('data')];
  for (const { value, textContent: name } of colours) {
    const field = form.elements[name];
    field.value = value;
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
  holder.querySelector('[data-palette-state]').textContent = message(colours.length > 0 ? 'paletteMade' : 'noColour');
}

const palette = form?.querySelector('[data-palette]');
palette?.querySelector('button').addEventListener('click', () => makePalette(palette));
palette?.querySelector('input').addEventListener('keydown', (event) => {
  if (event.key !== 'Enter') return;
  event.preventDefault();
  makePalette(palette);
});

if (form !== null && frame !== undefined) {
  for (const button of panel.querySelectorAll('[data-switch]')) {
    const { switch: name, value } = button.dataset;
    if (button.getAttribute('aria-pressed') === 'true') chosen[name] = value;
    button.addEventListener('click', () => {
      choose(name, value);
      layOut();
      post();
    });
  }
  form.addEventListener('input', updateSoon);
  form.addEventListener('change', ({ target }) => {
    if (target.name === 'unit') choose('unit', target.value);
    updateSoon();
  });
  window.addEventListener('resize', layOut);
  window.addEventListener('message', ({ origin, source, data }) => {
    if (origin === location.origin && source === frame.contentWindow && data === 'preview-ready') post();
  });
  layOut();
  frame.src = panel.dataset.frame;
}
