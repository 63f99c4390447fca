import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import { checkValue } from '../../management/schema-errors.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import { badge, type Cell, card, copyable, notice, saveForm, type Tone, table } from '../../shell/components.ts';
import { type FieldErrors, type Fields, type FormValues, fieldErrorsOf, rowsField } from '../../shell/context.ts';
import { moment } from '../../shell/format.ts';
import { createForm } from '../../shell/forms.ts';
import type { Page, Shell } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import { defaultButton, requireUnchanged, storedVersion, withRowChange, withStored } from '../../shell/row-list.ts';
import { type EventResult, listEvents, type SourceEvent, type StoredEffect } from '../events.ts';
import type { Note } from '../message.ts';
import { readSource, saveSource, sourceInput } from '../settings.ts';
import { fieldOf, inWords, readSettings, settingsFields, settingsToForm } from './mapping.ts';

const path = '/settings/sources';

type Services = Shell & { management: ManagementClient; secretBox: SecretBox };

/**
 * Registers the event source pages, which show the mapping of Segment and RudderStack events and the results of the
 * latest events.
 */
export function sourcePages(app: App, services: Services): void {
  const pages = publisherPages(app, services);
  pages.get(path, 'admin', (context) => sourcesPage(services, context));
  pages.post(path, 'admin', (context, fields) => save(services, context, fields));
}

async function save(services: Services, context: PublisherContext, submitted: Fields): Promise<PageResult> {
  if (submitted.checked(rowsField)) return sourcesPage(services, context, { typed: withRowChange(submitted.values) });
  try {
    await services.management.write(context, async (work) => {
      const stored = await readSource(work, services.secretBox);
      const hasSecret = stored.secret !== null;
      const storedValues = settingsToForm(stored.settings, hasSecret);
      requireUnchanged(submitted, storedValues);
      const fields = withStored(submitted, storedValues);
      const { settings, secret } = readSettings(fields, hasSecret);
      const input = { ...settings, ...(secret !== undefined && { secret }) };
      const details = checkValue(sourceInput, input).map((error) => ({ ...error, path: fieldOf(fields, error.path) }));
      if (details.length > 0) throw new AppError('invalid_request', { details });
      return saveSource(work, services.secretBox, settings, secret);
    });
  } catch (err) {
    return sourcesPage(services, context, { typed: submitted.values, errors: fieldErrorsOf(err) });
  }
  return { to: context.path(path), done: t('sources.saved') };
}

type Refused = { typed?: FormValues; errors?: FieldErrors };

async function sourcesPage(
  { management, secretBox, publicUrl }: Services,
  context: PublisherContext,
  { typed, errors = [] }: Refused = {},
): Promise<Page> {
  const { source, events } = await management.read(context, async (work) => ({
    source: await readSource(work, secretBox),
    events: await listEvents(work.executor, work.publisherId),
  }));
  const hasSecret = source.secret !== null;
  const to = context.path(path);
  const storedValues = settingsToForm(source.settings, hasSecret);
  const form = createForm(typed ?? storedValues, errors, to);
  const optionsOf = (kind: string): string => context.path(`/options?kind=${kind}`);
  const version = storedVersion(storedValues, errors.length === 0 ? typed : {});
  const fields = html`${defaultButton()}${form.summary()}${version}${settingsFields(form, hasSecret, optionsOf)}`;
  return {
    title: t('sources.title'),
    lead: t('sources.lead'),
    nav: 'sources',
    assets: ['pickers.js'],
    status: errors.length > 0 ? 422 : 200,
    body: html`
      ${ignoredNotice(events)}
      ${card(
        t('sources.connect'),
        html`
          <p>${t('sources.connectText')}</p>
          ${copyable(`${publicUrl}/manage/v1/sources/segment`, t('sources.webhookUrl'))}
          <p class="hint"><code>authorization: Bearer …</code></p>`,
      )}
      ${card(t('sources.becomes'), inWords(source.settings))}
      ${card(t('sources.mapping'), saveForm(context, to, fields, { rows: true }), { lead: t('sources.mappingHint') })}
      ${card(t('sources.latest'), eventsTable(context, events), { lead: t('sources.eventsLead') })}`,
  };
}

function eventsTable({ publisher }: PublisherContext, events: readonly SourceEvent[]): Html {
  if (events.length === 0) return html`<p class="hint">${t('sources.noEvents')}</p>`;
  const columns = [
    ...[{ text: t('sources.received') }, { text: t('sources.event') }, { text: t('sources.became') }],
    { text: t('sources.times'), numeric: true },
  ];
  return table(
    t('sources.latest'),
    columns,
    events.map((event): Cell[] => [
      moment(publisher, event.receivedAt),
      html`<code>${event.type}</code> ${event.name}`,
      html`${badge(t(`sources.result_${event.result}`), tones[event.result])} ${whyOf(event)}`,
      event.times,
    ]),
  );
}

const tones: Record<EventResult, Tone> = {
  applied: 'good',
  partly: 'warn',
  ignored: 'plain',
  superseded: 'info',
  refused: 'bad',
};

const whyOf = ({ refusal, effects, notes }: SourceEvent): string =>
  refusal === null ? [...effects.map(effectText), ...notes.map(noteText)].join('; ') : t(`sources.refusal_${refusal}`);

const noteText = ({ path: at, reason }: Note): string =>
  `${at.slice(1).replaceAll('/', '.')} ${t(`sources.note_${reason}`)}`;

/** Renders a notice if values of the latest events were ignored. */
function ignoredNotice(events: readonly SourceEvent[]): Html {
  const count = events.filter(({ notes }) => notes.length > 0).length;
  return count === 0 ? nothing : notice('warn', html`<p>${t('sources.ignoredValues', { count })}</p>`);
}

const effectText = ({ kind, name, result }: StoredEffect): string =>
  t('sources.effect', { kind: t(`sources.kind_${kind}`), name, result: t(`sources.effect_${result}`) });
