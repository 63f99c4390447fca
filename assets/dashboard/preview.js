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

/** The frame may load fonts from one origin: it is opened anew for another, and posts when it is ready. */
function post() {
  const { url = '' } = stateOf().appearance?.web_font ?? {};
  const src = panel.dataset.frame + (url === '' ? '' : `?${new URLSearchParams({ font: url })}`);
  if (frame.getAttribute('src') === src) frame.contentWindow.postMessage(answer(), location.origin);
  else frame.src = src;
}

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

/** Puts what the server makes of what is typed into its fields, as if it were typed. @returns what it answered */
async function fillIn(name) {
  const path = panel.dataset.frame.replace(/preview$/, name);
  const response = await fetch(path, { method: 'POST', body: new URLSearchParams(new FormData(form)) }).catch(
    () => null,
  );
  const found = document.createElement('template');
  if (response?.ok) found.innerHTML = await response.text();
  const values = [...found.content.querySelectorAll('data')];
  for (const { value, textContent: field } of values) {
    form.elements[field].value = value;
    form.elements[field].dispatchEvent(new Event('input', { bubbles: true }));
  }
  return { isFilled: values.length > 0, problem: found.content.querySelector('p')?.textContent };
}

async function makePalette(holder) {
  const { isFilled } = await fillIn('palette');
  holder.querySelector('[data-palette-state]').textContent = message(isFilled ? 'paletteMade' : 'noColour');
}

const urlsOf = (holder) => [...holder.querySelectorAll('[name$="url"]')].map(({ value }) => value).join(' ');
let lastRead = '';

async function readFont(holder) {
  const state = holder.querySelector('[data-font-state]');
  const isNamed = holder.querySelector('input').value.trim() !== '';
  lastRead = urlsOf(holder);
  state.textContent = isNamed ? message('readingFont') : '';
  if (!isNamed) return;
  const { isFilled, problem } = await fillIn('font');
  state.textContent = isFilled ? message('fontRead') : (problem ?? message('fontNotRead'));
}

/** Runs an action by its button, and by Enter in its fields, which does not save the form. */
function onAction(holder, action) {
  holder?.querySelector('button').addEventListener('click', () => action(holder));
  holder?.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.target.tagName !== 'INPUT') return;
    event.preventDefault();
    action(holder);
  });
}

onAction(form?.querySelector('[data-palette]'), makePalette);
const font = form?.querySelector('[data-font]');
if (font) lastRead = urlsOf(font);
onAction(font, readFont);
// Measures are of the file that was read, never of another.
font?.addEventListener('change', () => {
  if (urlsOf(font) === lastRead) return;
  for (const measured of font.querySelectorAll('[type="hidden"]')) measured.value = '';
  readFont(font);
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
  post();
}
