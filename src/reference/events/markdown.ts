import { formatValue } from '../operations/fields.ts';
import type { ShownEvent } from './page.ts';
import { type EventChange, type PayloadField, shortExample } from './payload-fields.ts';

/** Renders the event catalogue as Markdown, for language models and other programs that read the guides. */
export const renderEventsMarkdown = (events: readonly ShownEvent[], publicUrl: string): string =>
  `${[
    '# Webhook events',
    'Perkwire sends these events to your webhook endpoints. Ignore fields that you do not know, because later releases ' +
      `can add some. See also [Receive webhooks](${publicUrl}/docs/guides/receiving-webhooks.md).`,
    ...events.flatMap(eventSection),
  ].join('\n\n')}\n`;

const eventSection = ({ name, title, description, schema_url, fields, changes, sample }: ShownEvent): string[] => [
  `## ${name}`,
  `**${title}.** ${description} [JSON Schema](${schema_url})`,
  ['| Field | Type | Since | Example | Description |', '| --- | --- | --- | --- | --- |', ...fields.map(fieldRow)].join(
    '\n',
  ),
  `\`\`\`json\n${JSON.stringify(sample, null, 2)}\n\`\`\``,
  ...(changes.length === 0 ? [] : [`Changes:\n\n${changes.map(changeLine).join('\n')}`]),
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

const changeLine = ({ release, isFirst, fields }: EventChange): string =>
  `- ${release}: ${isFirst ? 'event added' : `added ${fields.map(code).join(', ')}`}`;
