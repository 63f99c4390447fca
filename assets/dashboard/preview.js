// Sends the values of a form with `data-previewed` to the preview frame while they are edited.

const holder = document.querySelector('[data-preview]');
const form = document.querySelector('form[data-previewed]');
const frame = holder?.querySelector('iframe');

/** The part of the preview that is not in the form: settings, styles, creatives and further offers. */
const base = holder === null ? null : JSON.parse(holder.dataset.preview);
let unit = base?.unit ?? 'mou';

/** Fields named `prefix.a.b` as nested objects. Empty fields are left out: the default applies. */
function nested(prefix) {
  const found = {};
  for (const control of form.elements) {
    if (!control.name?.startsWith(`${prefix}.`)) continue;
    const path = control.name.slice(prefix.length + 1).split('.');
    const value =
      control.type === 'checkbox'
        ? control.checked
        : control.dataset.kind === 'number'
          ? Number(control.value)
          : control.value;
    if (value === '' || Number.isNaN(value)) continue;
    const last = path.pop();
    let at = found;
    for (const name of path) at = at[name] ??= {};
    at[last] = value;
  }
  return found;
}

function merged(under, over) {
  const result = { ...under };
  for (const [key, value] of Object.entries(over))
    result[key] =
      typeof value === 'object' && value !== null && !Array.isArray(value) ? merged(under[key] ?? {}, value) : value;
  return result;
}

function answer() {
  const fields = Object.fromEntries(
    [...form.elements].filter(({ name }) => name).map((control) => [control.name, control.value]),
  );
  const checked = (name) => form.elements[name]?.checked === true;
  const offers = [...base.offers];
  if (base.kind === 'offer') {
    const typed = Object.fromEntries(base.fields.map((name) => [name, fields[name] ?? '']));
    offers[0] = { ...offers[0], ...typed, title: typed.title || typed.short_headline || 'Your headline' };
  }
  const multi = (base.kind === 'theme' ? fields.unit : unit) === 'mou';
  const usp = base.kind === 'theme' ? multi && checked('usp_enabled') : multi && base.settings.enable_usp;
  return {
    offers: multi ? offers : offers.slice(0, base.kind === 'offer' ? 1 : undefined),
    settings: merged(merged(base.settings, nested('settings')), {
      multi_offer_unit: multi,
      enable_usp: usp,
      usp_all_offers_checked:
        usp && (base.kind === 'theme' ? checked('usp_check_all') : base.settings.usp_all_offers_checked),
      embedded: { enabled: true },
      delay: 0,
      show_ads_on_exit: false,
    }),
    styles: merged(base.styles, nested('styles')),
  };
}

let timer;
const post = () => frame.contentWindow.postMessage(answer(), location.origin);
const debounceMs = 150;
const postSoon = () => {
  clearTimeout(timer);
  timer = setTimeout(post, debounceMs);
};

if (form !== null && frame !== undefined) {
  form.addEventListener('input', postSoon);
  form.addEventListener('change', postSoon);
  window.addEventListener('message', ({ origin, source, data }) => {
    if (origin === location.origin && source === frame.contentWindow && data === 'preview-ready') post();
  });
  for (const button of holder.querySelectorAll('[data-unit]'))
    button.addEventListener('click', () => {
      unit = button.dataset.unit;
      for (const other of holder.querySelectorAll('[data-unit]'))
        other.setAttribute('aria-pressed', String(other === button));
      post();
    });
  frame.src = holder.dataset.frame;
}
