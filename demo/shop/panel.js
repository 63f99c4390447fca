// What the service records, asked for each second while somebody looks. Everything is inserted as text.
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
  let last = '';
  let events = 0;

  const beaconItem = ({ at, kind, title, offer_id, suspicious }) =>
    item(
      timeOf(at),
      element('span', '', `${kind} · ${title || `offer ${offer_id}`}`),
      suspicious === null ? element('span', 'badge', 'counts') : element('span', 'badge bad', suspicious),
    );

  const verdicts = new Map([
    [true, ['badge', 'signature verified']],
    [false, ['badge bad', 'signature wrong']],
    [null, ['badge', 'GET']],
  ]);

  const webhookItem = ({ received_at, verified, dev, pub_user_id, selected, titles }) =>
    item(
      timeOf(received_at),
      element('strong', '', `${selected === null ? '?' : titles.length} selected${dev ? ' · dev' : ''}`),
      element('span', ...verdicts.get(verified)),
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
      const answer = await fetch('/demo/activity.json', { cache: 'no-store' });
      if (!answer.ok) throw new Error(`answered ${answer.status}`);
      const text = await answer.text();
      if (text !== last) draw(JSON.parse(text));
      last = text;
      byId('away').textContent = '';
    } catch {
      byId('away').textContent = 'The service cannot be reached.';
    }
  }

  async function poll() {
    if (!document.hidden) await refresh();
    setTimeout(poll, 1000);
  }

  /** A whole answer is too much to read here. */
  const short = ({ response, ...payload }) => JSON.stringify(payload) + (response === undefined ? '' : ' + response');

  window.addEventListener('shop:event', ({ detail: { event, payload } }) => {
    byId('events').prepend(
      item(timeOf(Date.now()), element('strong', '', event), element('span', 'more', short(payload ?? {}))),
    );
    byId('event-count').textContent = String(++events);
    if (byId('events').childElementCount > maxEvents) byId('events').lastElementChild.remove();
  });

  poll();
})();
