import { type Html, html, nothing, trusted } from '../../platform/http/html.ts';
import { type EventGroup, eventGroups } from '../../webhooks/event-groups.ts';
import type { Node } from '../openapi/operation-components.ts';
import { fieldsOf, formatValue } from '../operations/fields.ts';
import type { DocsAssets } from '../site/assets.ts';
import { renderCode } from '../site/highlight.ts';
import { inlineText } from '../site/inline-text.ts';
import { renderDocsPage } from '../site/page.ts';
import { type EventChange, eventsPath, noReferences, type PayloadField, shortExample } from './payload-fields.ts';

/** Event in the catalogue. `payload` is its schema with all references resolved. */
export type ShownEvent = {
  name: string;
  title: string;
  description: string;
  version: number;
  schema_url: string;
  group: EventGroup;
  sample: unknown;
  payload: Node;
  fields: readonly PayloadField[];
  changes: readonly EventChange[];
};

const groupTitles: Readonly<Record<EventGroup, string>> = {
  users: 'Users and perks',
  endpoints: 'Endpoints and deliveries',
  campaigns: 'Campaigns and offers',
  approvals: 'Approvals and audit log',
  others: 'Other events',
};

type Group = { title: string; id: string; events: readonly ShownEvent[] };

const groupsOf = (events: readonly ShownEvent[]): Group[] =>
  eventGroups
    .map((group) => ({
      title: groupTitles[group],
      id: `group-${group}`,
      events: events.filter((event) => event.group === group),
    }))
    .filter((group) => group.events.length > 0);

/** Renders the event catalogue page. Each event opens to the fields of its payload and a sample. */
export const renderEventsPage = (events: readonly ShownEvent[], assets: DocsAssets, isDemo: boolean): string =>
  renderDocsPage({
    title: 'Webhook events',
    area: 'Events',
    assets,
    isDemo: true,
    isWide: true,
    navigation: html`${groupsOf(events).map(
      (group) => html`
      <p class="nav-title">${group.title}</p>
      <ul class="of-events">
        ${group.events.map(({ name }) => html`<li><a href="#${name}"><span>${name}</span></a></li>`)}
      </ul>`,
    )}`,
    content: html`
      <header class="intro">
        <h1>Webhook events</h1>
        <p>
          Events that Perkwire sends to your webhook endpoints.
          See <a href="/docs/guides/receiving-webhooks">Receive webhooks</a> for how to verify and answer them.
          This page is also available <a href="/docs/events.json">as JSON</a> and
          <a href="${eventsPath}.md">as Markdown</a>, and <a href="/docs/json">OpenAPI</a> contains the events as
          webhooks. Your dashboard lists which of your endpoints receive each event.
        </p>
      </header>
      ${groupsOf(events).map(
        (group) => html`
      <section class="events" aria-labelledby="${group.id}">
        <h2 id="${group.id}">${group.title}</h2>
        ${group.events.map((event) => eventDetails(event, isDemo))}
      </section>`,
      )}`,
  });

const eventDetails = (
  { name, title, description, version, schema_url: schemaUrl, sample, payload, fields, changes }: ShownEvent,
  isDemo: boolean,
) => html`
<details class="event" id="${name}">
  <summary><h3>${title}</h3> <code>${name}</code> <span>${inlineText(description)}</span></summary>
  <div class="operation">
    <div class="about">
      <p class="access">
        Version ${version}
        · <a href="${new URL(schemaUrl).pathname}" download>JSON Schema of the payload</a>
        · <a href="#${name}">Link to this event</a>
      </p>
      ${fieldsOf(noReferences, payload, { parents: [], noteOf: noteIn(fields) })}
      ${changes.length > 0 && html`<h4>Changes</h4><ul class="changes">${changes.map(changeLine)}</ul>`}
    </div>
    <div class="beside">
      <div class="example">
        <p class="language">Sample</p>
        ${trusted(renderCode(JSON.stringify(sample, null, 2), 'json', isDemo))}
      </div>
    </div>
  </div>
</details>`;

/** Returns a function that renders the example of a field, and the release that added it. */
function noteIn(fields: readonly PayloadField[]): (path: string) => Html {
  const byPath = new Map(fields.map((field) => [field.path.replaceAll('[]', ''), field]));
  return (path) => {
    const { values = [], example, since = null } = byPath.get(path) ?? {};
    // A field with a single value needs no example.
    const text = values.length === 1 ? null : shortExample(example);
    if (text === null && since === null) return nothing;
    return html`<p class="limits">
      ${text !== null && html`<span>Example: <code>${text}</code></span> `}
      ${since !== null && html`<span>Since ${since}</span>`}
    </p>`;
  };
}

const changeLine = ({ release, isFirst, fields }: EventChange): Html => html`
  <li><strong>${release}</strong>: ${
    isFirst
      ? 'event added'
      : html`added ${fields.map((field, index) => html`${index > 0 && ', '}<code>${field}</code>`)}`
  }</li>`;

/** Renders the event catalogue as Markdown, for language models and other programs that read the guides. */
export const renderEventsMarkdown = (events: readonly ShownEvent[], publicUrl: string): string =>
  `${[
    '# Webhook events',
    'Perkwire sends these events to your webhook endpoints. Ignore fields that you do not know, because later ' +
      `releases can add some. See also [Receive webhooks](${publicUrl}/docs/guides/receiving-webhooks.md).`,
    ...events.flatMap(eventSection),
  ].join('\n\n')}\n`;

const eventSection = ({ name, title, description, schema_url, fields, changes, sample }: ShownEvent): string[] => [
  `## ${name}`,
  `**${title}.** ${description} [JSON Schema](${schema_url})`,
  ['| Field | Type | Since | Example | Description |', '| --- | --- | --- | --- | --- |', ...fields.map(fieldRow)].join(
    '\n',
  ),
  `\`\`\`json\n${JSON.stringify(sample, null, 2)}\n\`\`\``,
  ...(changes.length === 0 ? [] : [`Changes:\n\n${changes.map(changeItem).join('\n')}`]),
];

/** Writes text in a table cell. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');

/** Writes a value as code in a table cell. A backtick would end the code. */
const code = (text: string): string => `\`${cell(text).replaceAll('`', "'")}\``;

function fieldRow({ path, type, required, description, values, since, example }: PayloadField): string {
  const text = shortExample(example);
  const choice = values.length > 1 ? `One of ${values.map((value) => code(formatValue(value))).join(', ')}.` : '';
  const about = [required ? '' : 'Optional.', description ?? '', choice].filter((part) => part !== '').join(' ');
  return `| ${[code(path), cell(type), since ?? '', text === null ? '' : code(text), cell(about)].join(' | ')} |`;
}

const changeItem = ({ release, isFirst, fields }: EventChange): string =>
  `- ${release}: ${isFirst ? 'event added' : `added ${fields.map(code).join(', ')}`}`;
