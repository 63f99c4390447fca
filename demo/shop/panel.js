// Polls the service while the page is visible, and shows the recorded webhooks, beacons and SDK events. All values are
// inserted as text, never as HTML.
(() => {
  const byId = (id) => document.getElementById(id);
  const element = (tag, className, text) =>
    Object.assign(document.createElement(tag), { className, textContent: text });
  const timeOf = (date) => element('time', '', new Date(date).toLocaleTimeString([], { hour12: false }));
  const item = (...parts) => {
    const line = document.createElement('li');
    line.append(...parts.filter((part) => part !== null));
    return line;
  };
  const maxEvents = 30;
  const pollIntervalMs = 1000;
  let lastText = '';
  let eventCount = 0;
  // Make scrollable lists focusable, so that they can be scrolled by keyboard.
  for (const id of ['webhooks', 'beacons', 'events']) byId(id).tabIndex = 0;

  const beaconItem = ({ at, kind, title, offer_id, suspicious }) =>
    item(
      timeOf(at),
      element('span', '', `${kind} · ${title || `offer ${offer_id}`}`),
      suspicious === null ? element('span', 'badge', 'counted') : element('span', 'badge bad', suspicious),
    );

  const signatureBadges = new Map([
    [true, ['badge', 'signature verified']],
    [false, ['badge bad', 'signature wrong']],
    [null, ['badge', 'GET']],
  ]);

  const webhookItem = ({ received_at, verified, dev, pub_user_id, selected, titles }) =>
    item(
      timeOf(received_at),
      element('strong', '', `${selected === null ? '?' : titles.length} selected${dev ? ' · dev' : ''}`),
      element('span', ...signatureBadges.get(verified)),
      element('span', 'more', [pub_user_id, ...titles].join(' · ')),
    );

  function draw({ beacons, webhooks }) {
    byId('beacons').replaceChildren(...beacons.map(beaconItem));
    byId('webhooks').replaceChildren(...webhooks.map(webhookItem));
    byId('beacon-count').textContent = String(beacons.length);
    byId('webhook-count').textContent = String(webhooks.length);
  }

  async function refresh() {
    try {
      const response = await fetch('/demo/activity.json', { cache: 'no-store' });
      if (!response.ok) throw new Error(`status ${response.status}`);
      const text = await response.text();
      if (text !== lastText) draw(JSON.parse(text));
      lastText = text;
      byId('unavailable').textContent = '';
    } catch {
      byId('unavailable').textContent = 'Could not reach the service.';
    }
  }

  async function poll() {
    if (!document.hidden) await refresh();
    setTimeout(poll, pollIntervalMs);
  }

  /** Event payload as JSON. The response in `ads_found` is too long for the list, so it is abbreviated. */
  const summaryOf = ({ response, ...payload }) =>
    JSON.stringify(payload) + (response === undefined ? '' : ' + response');

  window.addEventListener('shop:event', ({ detail: { event, payload } }) => {
    byId('events').prepend(
      item(timeOf(Date.now()), element('strong', '', event), element('span', 'more', summaryOf(payload ?? {}))),
    );
    byId('event-count').textContent = String(++eventCount);
    if (byId('events').childElementCount > maxEvents) byId('events').lastElementChild.remove();
  });

  poll();
})();
