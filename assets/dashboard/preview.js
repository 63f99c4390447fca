// Shows the preview, and updates it while a form with `data-previewed` is edited.

const panel = document.querySelector('.preview');
const form = document.querySelector('form[data-previewed]');
const frame = panel?.querySelector('iframe');

/** Selected value of each switch group (`data-switch`), by group name. */
const chosen = {};

const stateOf = () => JSON.parse(panel.querySelector('[data-preview]').dataset.preview);

const isPhone = matchMedia('(max-width: 40rem)').matches;
/** Screen sizes of the preview, in CSS pixels. The frame is scaled down to fit the panel's width. */
const screens = { phone: { width: 375, height: isPhone ? 440 : 700 }, desktop: { width: 1100, height: 900 } };

function layOut() {
  const { width, height } = screens[chosen.size];
  const stage = panel.querySelector('.preview-stage');
  const scale = Math.min(1, stage.clientWidth / width);
  stage.style.height = `${Math.round(height * scale)}px`;
  Object.assign(frame.style, { width: `${width}px`, height: `${height}px`, transform: `scale(${scale})` });
  frame.style.marginInlineStart = `${Math.max(0, (stage.clientWidth - width * scale) / 2)}px`;
}

/** Image file that the user has selected, as a data URL, or an empty string. */
let selectedImage = '';

/** Reads the selected file. The frame shows nothing for a file that is not an image. */
function readImage(file) {
  return new Promise((resolve) => {
    if (file === undefined) return resolve('');
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => resolve('');
    reader.readAsDataURL(file);
  });
}

/** Replaces the first offer's texts and image with the form's current values. */
function withTyped(offers, fields) {
  const typed = Object.fromEntries(fields.map((name) => [name, form.elements[name]?.value ?? '']));
  const [first, ...others] = offers;
  const title = typed.title || typed.short_headline || message('yourHeadline');
  const creatives = [{ url: `${location.origin}/selected-image`, creative_type: 'offer_image' }];
  return [{ ...first, ...typed, title, ...(selectedImage !== '' && { creatives }) }, ...others];
}

function answer() {
  const { kind, settings, styles, appearance, offers, fields } = stateOf();
  const multi = chosen.unit === 'mou';
  const currentOffers = fields.length > 0 ? withTyped(offers, fields) : offers;
  const scheme = appearance?.color_scheme ?? 'light';
  return {
    page: { scheme: chosen.scheme, dir: chosen.dir },
    selectedImage,
    offers: multi || kind === 'theme' ? currentOffers : currentOffers.slice(0, 1),
    settings: {
      ...settings,
      multi_offer_unit: multi,
      enable_usp: multi && settings.enable_usp,
      embedded: { ...settings.embedded, enabled: true },
      delay: 0,
      show_ads_on_exit: false,
    },
    styles,
    // In the frame, `system` would mean this device's colour scheme. Use the scheme selected in the preview instead.
    ...(appearance !== null && {
      appearance: { ...appearance, color_scheme: scheme === 'system' ? chosen.scheme : scheme },
    }),
  };
}

/**
 * Sends the preview to the frame. If the font's URL has changed, reloads the frame instead, because its CSP allows only
 * one font origin. The frame asks for the preview when it is ready.
 */
function post() {
  const { url = '' } = stateOf().appearance?.web_font ?? {};
  const src = panel.dataset.frame + (url === '' ? '' : `?${new URLSearchParams({ font: url })}`);
  if (frame.getAttribute('src') === src) frame.contentWindow.postMessage(answer(), location.origin);
  else frame.src = src;
}

/** Returns the form's fields, except for the token that lets the form create something only once. */
function valuesOf(form) {
  const body = new URLSearchParams(new FormData(form));
  body.delete('_once');
  return body;
}

let generation = 0;

/** Refreshes the preview. For a theme, the server first completes the settings and reports texts with poor contrast. */
async function update() {
  if (stateOf().kind === 'theme') {
    const current = ++generation;
    const body = valuesOf(form);
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

/** Sends the form to the server, and enters the values that it returns into the fields. */
async function fillIn(name) {
  const path = panel.dataset.frame.replace(/preview$/, name);
  const response = await fetch(path, { method: 'POST', body: valuesOf(form) }).catch(() => null);
  const template = document.createElement('template');
  if (response?.ok) template.innerHTML = await response.text();
  const values = [...template.content.querySelectorAll('data')];
  for (const { value, textContent: field } of values) {
    form.elements[field].value = value;
    form.elements[field].dispatchEvent(new Event('input', { bubbles: true }));
  }
  return { isFilled: values.length > 0, problem: template.content.querySelector('p')?.textContent };
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

/** Runs an action on a click on its button, or on Enter in one of its fields. Enter does not submit the form there. */
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
// The hidden font metrics belong to the font file that was read last, so they are cleared when its URL changes.
font?.addEventListener('change', () => {
  if (urlsOf(font) === lastRead) return;
  for (const field of font.querySelectorAll('[type="hidden"]')) field.value = '';
  readFont(font);
});

if (frame !== undefined) {
  for (const button of panel.querySelectorAll('[data-switch]')) {
    const { switch: name, value } = button.dataset;
    if (button.getAttribute('aria-pressed') === 'true') chosen[name] = value;
    button.addEventListener('click', () => {
      choose(name, value);
      layOut();
      post();
    });
  }
  form?.addEventListener('input', updateSoon);
  form?.addEventListener('change', async ({ target }) => {
    if (target.name === 'unit') choose('unit', target.value);
    if (target.type === 'file') selectedImage = await readImage(target.files[0]);
    updateSoon();
  });
  window.addEventListener('resize', layOut);
  window.addEventListener('message', ({ origin, source, data }) => {
    if (origin === location.origin && source === frame.contentWindow && data === 'preview-ready') post();
  });
  layOut();
  post();
}
