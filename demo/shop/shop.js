// The shop's pages. What the switches say is in the address, so that a reload or a link shows the same.
const defaults = { on: 'web', unit: 'multi', place: 'embedded', prefetch: 'off', usp: 'on', dev: 'off', step: 'order' };
const query = new URLSearchParams(location.search);
const state = Object.fromEntries(Object.entries(defaults).map(([name, value]) => [name, query.get(name) ?? value]));
const byId = (id) => document.getElementById(id);

/** A shopper is new after every change of the switches: to the service, a user's earlier answers matter. */
const shopper = () => {
  const kept = sessionStorage.getItem('shop:user');
  if (kept !== null) return kept;
  const made = `shopper-${Math.random().toString(36).slice(2, 10)}`;
  sessionStorage.setItem('shop:user', made);
  return made;
};
const accountId = document.body.dataset.account;
/** The theme comes with the placement. */
const placement = state.unit === 'single' ? 'order-status' : state.usp === 'all' ? 'checkout-all-picked' : 'checkout';
const user = { placement, pub_user_id: shopper(), first_name: 'Ada' };
const addressOf = (changes) => `/demo?${new URLSearchParams({ ...state, ...changes })}`;

const goods = [
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
  const picture = svg('svg', { viewBox: '0 0 40 40', width: '40', height: '40', 'aria-hidden': 'true' });
  picture.append(svg('rect', { width: '40', height: '40', fill: colour }), svg('path', { d: path, ...stroke }));
  const cost = Object.assign(document.createElement('span'), { className: 'price', textContent: price });
  const line = document.createElement('li');
  line.append(picture, name, cost);
  return line;
}

/** null: there is none, and the SDK says so when it gets it. */
const fetchAnswer = async () => {
  const answer = await fetch(`/native/v4/offers.json?api_key=${accountId}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...user, ...(state.dev === 'on' && { dev: '1' }) }),
  }).catch(() => null);
  return answer?.ok ? answer.json() : null;
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
  byId('place').href = addressOf({ step: 'order' });
  const notes = {
    off: 'Offers are fetched after the order.',
    sdk: 'The SDK fetches the offers now, and keeps them for the next page.',
    api: 'This page fetches the offers now, and hands them to the SDK on the next page.',
  };
  byId('basket-note').textContent = notes[state.prefetch] ?? '';
  window.AdUser = user;
  if (state.prefetch === 'sdk') window.AdConfig = { ...baseConfig(), prefetch: true, autoShow: false };
  if (state.prefetch === 'api')
    fetchAnswer().then((answer) => {
      if (answer !== null) sessionStorage.setItem('shop:answer', JSON.stringify(answer));
      onEvent(answer === null ? '(page) no answer' : '(page) answer kept', { offerCount: answer?.data.count });
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
  if (state.prefetch === 'api') window.addEventListener('DOMContentLoaded', handOver);
}

/** API prefetch: the answer of the page before, or of now where there is none. */
async function handOver() {
  const kept = sessionStorage.getItem('shop:answer');
  sessionStorage.removeItem('shop:answer');
  const found = await window.Ad.setApiResponse(kept === null ? await fetchAnswer() : JSON.parse(kept));
  if (found) window.Ad.reload();
}

function showPhone() {
  byId('app').hidden = false;
  const { unit, prefetch, dev } = state;
  byId('phone').src = `/demo/phone?${new URLSearchParams({ unit, prefetch, dev, user: shopper() })}`;
  window.addEventListener('message', ({ origin, source, data }) => {
    if (origin === location.origin && source === byId('phone').contentWindow) onEvent(data.event, data.payload);
  });
}

function setUpSwitches() {
  const form = byId('switches');
  for (const [name, value] of Object.entries(state))
    for (const input of form.querySelectorAll(`[name="${name}"]`)) input.checked = input.value === value;
  const follow = () => {
    for (const group of form.querySelectorAll('.web-only')) group.disabled = form.elements.on.value === 'phone';
  };
  form.addEventListener('change', follow);
  follow();
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    sessionStorage.removeItem('shop:user');
    sessionStorage.removeItem('shop:answer');
    const chosen = Object.fromEntries(new FormData(form));
    location.assign(
      `/demo?${new URLSearchParams({ ...chosen, step: chosen.prefetch === 'off' ? 'order' : 'basket' })}`,
    );
  });
}

for (const list of document.querySelectorAll('.lines')) list.append(...goods.map(lineOf));
setUpSwitches();
if (state.on === 'phone') showPhone();
else if (state.step === 'basket') showBasket();
else showOrder();
