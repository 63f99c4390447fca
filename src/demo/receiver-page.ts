import { type Html, html } from '../platform/http/html.ts';
import type { Received } from './received.ts';
import { type SeenWebhook, seenWebhook } from './shop/activity.ts';

/** Maximum number of webhooks shown on the page. The JSON response contains all of them. */
const maxShown = 50;

/** Renders the received webhooks, newest first. A script reloads the page when new webhooks arrive. */
export function receiverPage(received: readonly Received[]): Html {
  const recent = received.slice(0, maxShown);
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Webhooks received – Perkwire demo shop</title>
    <link rel="stylesheet" href="/demo/shop.css">
    <script defer src="/demo/receiver.js"></script>
  </head>
  <body class="receiver">
    <header class="bar">
      <p class="logo">Larkmoor</p>
      <p class="tag">Demo receiver</p>
      <nav aria-label="Perkwire">
        <a href="/demo">Shop</a><a href="/docs">API</a><a href="/dashboard">Dashboard</a>
      </nav>
    </header>
    <main data-count="${received.length}">
      <section class="card">
        <h1>Webhooks received</h1>
        <p class="quiet">
          What Perkwire sent to this stand-in for a shop’s server since it started, newest first. Confirm a perk in the
          <a href="/demo">demo shop</a>, and its webhook appears. Scripts get JSON, with the secret that verifies it.
        </p>
      </section>
      ${recent.length === 0 && html`<p class="card quiet">Nothing has arrived yet.</p>`}
      ${recent.map(item)}
      ${
        received.length > maxShown &&
        html`<p class="quiet">And ${received.length - maxShown} earlier ones, in the JSON.</p>`
      }
    </main>
  </body>
</html>
`;
}

const signatures = new Map([
  [true, { tone: '', text: 'signature verified' }],
  [false, { tone: 'bad', text: 'signature wrong' }],
  [null, { tone: '', text: 'GET, not verified here' }],
]);

function item(webhook: Received, index: number): Html {
  const view = seenWebhook(webhook);
  const signature = signatures.get(view.verified);
  return html`
    <article class="card webhook">
      <h2>${headline(view)}</h2>
      <p>
        <span class="badge ${signature?.tone ?? ''}">${signature?.text}</span>
        ${view.dev && html`<span class="badge">dev</span>`}
        <time datetime="${webhook.received_at}">${webhook.received_at.replace('T', ' ').slice(0, 19)} UTC</time>
      </p>
      <p class="quiet">${view.id}</p>
      <details${index === 0 && html` open`}>
        <summary>Body</summary>
        <pre tabindex="0" aria-label="Body of ${view.id}">${pretty(webhook.body)}</pre>
      </details>
      <details>
        <summary>Headers</summary>
        <pre tabindex="0" aria-label="Headers of ${view.id}">${headerLines(webhook)}</pre>
      </details>
    </article>`;
}

function headline({ pub_user_id: user, selected, titles }: SeenWebhook): string {
  if (selected === null) return 'Webhook';
  const what = titles.length === 0 ? 'No perk' : titles.join(', ');
  return `${what} · ${user === '' ? 'unknown user' : user}`;
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

const headerLines = ({ method, url, headers }: Received): string =>
  [`${method} ${url}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`)].join('\n');
