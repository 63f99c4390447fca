// Simulates a native app: its screens, web views (iframes) with the shipped templates, and the `adCallback` handler.
const query = new URLSearchParams(location.search);
const byId = (id) => document.getElementById(id);
const accountId = document.body.dataset.account;
const prefetch = query.get('prefetch') ?? 'off';
const multi = query.get('unit') !== 'single';
const dev = query.get('dev') === 'on';
const user = { placement: multi ? 'checkout' : 'order-status', pub_user_id: query.get('user') ?? 'app-user' };
const views = new Set();
let storedResponse = null;

const report = (event, payload) => {
  if (window.parent !== window) window.parent.postMessage({ event, payload }, location.origin);
};

function openView(page, className) {
  const view = Object.assign(document.createElement('iframe'), {
    className,
    title: className === 'view' ? 'Offers' : '',
  });
  if (className === 'hidden') view.tabIndex = -1;
  const mode = prefetch === 'api' ? 'api' : 'sdk';
  const values = { user: user.pub_user_id, placement: user.placement, mode, ...(dev && { dev: '1' }) };
  view.src = `/demo/phone/${page}?${new URLSearchParams(values)}`;
  document.querySelector('main').append(view);
  views.add(view);
  return view;
}

function closeViews() {
  for (const view of views) view.remove();
  views.clear();
}

async function fetchOffers() {
  const response = await fetch(`/native/v4/offers.json?api_key=${accountId}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...user, ...(dev && { dev: '1' }) }),
  }).catch(() => null);
  storedResponse = response?.ok ? await response.json() : null;
  const event = storedResponse === null ? '(app) no response' : '(app) response stored';
  report(event, { offerCount: storedResponse?.data.count });
}

async function placeOrder() {
  closeViews();
  byId('basket').hidden = byId('place').hidden = true;
  byId('done').hidden = false;
  byId('title').textContent = 'Thank you for your order';
  if (prefetch === 'api' && storedResponse === null) await fetchOffers();
  if (prefetch === 'api' && storedResponse === null) return;
  const view = openView('checkout.html', 'view');
  view.addEventListener('load', async () => {
    view.focus();
    if (prefetch !== 'api') return;
    const { Ad } = view.contentWindow;
    if (await Ad.setApiResponse(storedResponse)) Ad.reload();
  });
  byId('confirm').hidden = !multi;
}

/** Handles SDK events as an app does (see docs/guides). */
function onCallback(event, payload) {
  if (event === 'url_clicked') {
    byId('url').textContent = payload.target_url;
    byId('browser').hidden = false;
    byId('back').focus();
  }
  if (event === 'usp_confirmed') {
    byId('confirm').disabled = true;
    byId('confirm').textContent = 'Perks confirmed';
  }
  // Hide the view instead of removing it: its page is still needed to confirm the perks.
  if (event === 'closed_ads' || event === 'no_ads_found')
    for (const view of views) if (view.className === 'view') view.hidden = true;
  report(event, payload);
}

window.addEventListener('message', ({ origin, source, data }) => {
  if (origin === location.origin && [...views].some((view) => view.contentWindow === source))
    onCallback(data.event, data.payload);
});
byId('place').addEventListener('click', placeOrder);
byId('back').addEventListener('click', () => {
  byId('browser').hidden = true;
  document.querySelector('.view')?.focus();
});
// A real app would run this as a script in its web view.
byId('confirm').addEventListener('click', () => {
  const page = document.querySelector('.view').contentWindow;
  page.document.dispatchEvent(new page.Event('ad:confirm'));
});

const notes = {
  sdk: 'A hidden web view prefetches and stores the offers.',
  api: 'The app prefetches the offers and stores the response.',
};
byId('note').textContent = notes[prefetch] ?? '';
if (prefetch === 'sdk') openView('prefetch.html', 'hidden');
if (prefetch === 'api') fetchOffers();
