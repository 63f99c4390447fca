// The shop's pages. The URL contains the options, so that reloads and shared links show the same page.
const defaults = { on: 'web', unit: 'multi', place: 'embedded', prefetch: 'off', usp: 'on', dev: 'off', step: 'order' };
const query = new URLSearchParams(location.search);
const state = Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, query.get(name) ?? value]));
const byId = (id) => document.getElementById(id);

/** Each change of the options starts a new shopper, because a user's earlier actions affect the offers. */
const shopperId = () => {
  const stored = sessionStorage.getItem('shop:user');
  if (stored !== null) return stored;
  const created = `shopper-${Math.random().toString(36).slice(2, 10)}`;
  sessionStorage.setItem('shop:user', created);
  return created;
};
const accountId = document.body.dataset.account;
/** The placement determines the theme. */
const placement = state.unit === 'single' ? 'order-status' : state.usp === 'all' ? 'checkout-all-picked' : 'checkout';
const user = { placement, pub_user_id: shopperId(), first_name: 'Ada' };
const urlOf = (changes) => `/demo?${new URLSearchParams({ ...state, ...changes })}`;

const products = [
  ['Stoneware mug', '14.00', '#f3d9c6', 'M10 12h16v10a6 6 0 0 1-6 6h-4a6 6 0 0 1-6-6zm16 3h2a4 4 0 0 1 0 8h-2'],
  ['Linen notebook', '9.50', '#d5e3ef', 'M12 9h16v22H12zm4 0v22m4-15h5m-5 4h5'],
  ['Beeswax candle', '17.00', '#f5e6b3', 'M14 18h12v13H14zm6 0v-4m0-6c3 3 2 6 0 6s-3-3 0-6'],
];

function lineOf([name, price, colour, path]) {
  const svg = (tag, attributes, ...children) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const stroke = {
    fill: 'none',
    stroke: '#22262e',
    'stroke-width': '2',
    'stroke-linejoin': 'round',
    'stroke-linecap': 'round',
  };
  const icon = svg('svg', { viewBox: '0 0 40 40', width: '40', height: '40', 'aria-hidden': 'true' });
  icon.append(svg('rect', { width: '40', height: '40', fill: colour }), svg('path', { d: path, ...stroke }));
  const cost = Object.assign(document.createElement('span'), { className: 'price', textContent: price });
  const line = document.createElement('li');
  line.append(icon, name, cost);
  return line;
}

/** Returns the response, or null if the request failed. The SDK reports null as an error. */
const fetchOffers = async () => {
  const response = await fetch(`/native/v4/offers.json?api_key=${accountId}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...user, ...(state.dev === 'on' && { dev: '1' }) }),
  }).catch(() => null);
  return response?.ok ? response.json() : null;
};

function onEvent(event, payload) {
  window.dispatchEvent(new CustomEvent('shop:event', { detail: { event, payload } }));
  if (event === 'usp_confirmed') markConfirmed();
}

function markConfirmed() {
  byId('confirm').disabled = true;
  byId('confirm').textContent = 'Perks confirmed';
}

const baseConfig = () => ({ accountId, ...(state.dev === 'on' && { dev: '1' }), callback: onEvent });

function showBasket() {
  byId('basket').hidden = false;
  byId('place').href = urlOf({ step: 'order' });
  const notes = {
    off: 'Offers are fetched after the order.',
    sdk: 'The SDK prefetches the offers for the next page.',
    api: 'This page prefetches the offers and passes them to the SDK on the next page.',
  };
  byId('basket-note').textContent = notes[state.prefetch] ?? '';
  window.AdUser = user;
  if (state.prefetch === 'sdk') window.AdConfig = { ...baseConfig(), prefetch: true, autoShow: false };
  if (state.prefetch === 'api')
    fetchOffers().then((response) => {
      if (response !== null) sessionStorage.setItem('shop:response', JSON.stringify(response));
      const event = response === null ? '(page) no response' : '(page) response stored';
      onEvent(event, { offerCount: response?.data.count });
    });
}

function showOrder() {
  byId('order').hidden = false;
  const perks = state.usp !== 'off' && state.unit === 'multi';
  byId('confirm-row').hidden = !perks;
  byId('confirm').addEventListener('click', () => document.dispatchEvent(new Event('ad:confirm')));
  window.AdUser = user;
  window.AdConfig = {
    ...baseConfig(),
    ...(state.place === 'embedded' && { targetElement: '#perks' }),
    ...(state.usp === 'off' && { settings: { enable_usp: false } }),
    autoLoad: state.prefetch !== 'api',
    prefetch: state.prefetch === 'sdk',
  };
  if (state.prefetch === 'api') window.addEventListener('DOMContentLoaded', passResponse);
}

/** API prefetch: passes the previous page's response to the SDK. If there is none, fetches one. */
async function passResponse() {
  const stored = sessionStorage.getItem('shop:response');
  sessionStorage.removeItem('shop:response');
  const hasOffers = await window.Ad.setApiResponse(stored === null ? await fetchOffers() : JSON.parse(stored));
  if (hasOffers) window.Ad.reload();
}

function showPhone() {
  byId('app').hidden = false;
  const { unit, prefetch, dev } = state;
  byId('phone').src = `/demo/phone?${new URLSearchParams({ unit, prefetch, dev, user: shopperId() })}`;
  window.addEventListener('message', ({ origin, source, data }) => {
    if (origin === location.origin && source === byId('phone').contentWindow) onEvent(data.event, data.payload);
  });
}

function setUpOptions() {
  const form = byId('options');
  for (const [name, value] of Object.entries(state))
    for (const input of form.querySelectorAll(`[name="${name}"]`)) input.checked = input.value === value;
  const updateDisabled = () => {
    for (const group of form.querySelectorAll('.web-only')) group.disabled = form.elements.on.value === 'phone';
  };
  form.addEventListener('change', updateDisabled);
  updateDisabled();
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    sessionStorage.removeItem('shop:user');
    sessionStorage.removeItem('shop:response');
    const options = Object.fromEntries(new FormData(form));
    location.assign(urlOf({ ...options, step: options.prefetch === 'off' ? 'order' : 'basket' }));
  });
}

for (const list of document.querySelectorAll('.lines')) list.append(...products.map(lineOf));
setUpOptions();
if (state.on === 'phone') showPhone();
else if (state.step === 'basket') showBasket();
else showOrder();
