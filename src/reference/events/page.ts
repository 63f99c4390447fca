import { html, trusted } from '../../platform/http/html.ts';
import type { ApiDocument } from '../openapi/example-request.ts';
import type { Node } from '../openapi/operation-components.ts';
import { fieldsOf } from '../operations/fields.ts';
import type { DocsAssets } from '../site/assets.ts';
import { renderCode } from '../site/highlight.ts';
import { inlineText } from '../site/inline-text.ts';
import { renderDocsPage } from '../site/page.ts';

/** Event in the catalogue. `payload` is its schema with all references resolved. */
export type ShownEvent = {
  name: string;
  title: string;
  description: string;
  version: number;
  schema_url: string;
  sample: unknown;
  payload: Node;
};

const noReferences = { paths: {} } as ApiDocument;

/** Renders the event catalogue page, which shows the fields of each payload next to a sample. */
export const renderEventsPage = (events: readonly ShownEvent[], assets: DocsAssets, isDemo: boolean): string =>
  renderDocsPage({
    title: 'Webhook events',
    area: 'Events',
    assets,
    isDemo: true,
    isWide: true,
    navigation: html`
      <p class="nav-title">Webhook events</p>
      <ul>${events.map(({ name }) => html`<li><a href="#${name}"><span>${name}</span></a></li>`)}</ul>`,
    content: html`
      <header class="intro">
        <h1>Webhook events</h1>
        <p>
          Events that Perkwire sends to your webhook endpoints.
          See <a href="/docs/guides/receiving-webhooks">Receive webhooks</a> for how to verify and answer them.
          This page is also available <a href="/docs/events.json">as JSON</a>.
        </p>
      </header>
      ${events.map((event) => eventSection(event, isDemo))}`,
  });

const eventSection = (
  { name, title, description, schema_url: schemaUrl, sample, payload }: ShownEvent,
  isDemo: boolean,
) => html`
<section class="operation" id="${name}">
  <div class="about">
    <h2>${title} <a class="anchor" href="#${name}" aria-label="Link to “${title}”">#</a></h2>
    <p class="call"><code>${name}</code></p>
    <p>${inlineText(description)}</p>
    <p class="access"><a href="${new URL(schemaUrl).pathname}">JSON Schema of the payload</a></p>
    <h3>Payload</h3>
    ${fieldsOf(noReferences, payload)}
  </div>
  <div class="beside">
    <div class="example">
      <p class="language">Sample</p>
      ${trusted(renderCode(JSON.stringify(sample, null, 2), 'json', isDemo))}
    </div>
  </div>
</section>`;
