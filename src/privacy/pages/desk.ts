import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { ManagementClient } from '../../management/page-client.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { type MessageKey, t, tHtml } from '../../platform/i18n/messages.ts';
import { isUuid7 } from '../../platform/lib/uuid7.ts';
import { wordProblem } from '../../platform/problem.ts';
import { type ErasedCounts, type IdentifierKind, identifierKinds, type UserSubject } from '../../platform/user-data.ts';
import {
  actionButton,
  badge,
  card,
  emptyState,
  link,
  pager,
  saveForm,
  type Tone,
  table,
} from '../../shell/components.ts';
import { type FieldErrors, type Fields, queryText } from '../../shell/context.ts';
import { count, moment, momentOr } from '../../shell/format.ts';
import { columns, createForm } from '../../shell/forms.ts';
import type { Page, Shell } from '../../shell/layout.ts';
import type { PageResult } from '../../shell/pages.ts';
import type { PrivacyDesk } from '../desk.ts';
import { type Erasure, type ErasureStatus, listErasures, statusOf } from '../erasures.ts';
import type { PersonalData } from '../export-file.ts';

/** Services of the pages. `hasDataFiles` is whether raw data is also exported to data files. */
type Services = Shell & { desk: PrivacyDesk; management: ManagementClient; hasDataFiles: boolean };

const path = '/settings/privacy';
const erasuresPerPage = 25;

/** Display names of the kinds of data in exports. */
export const kindTexts: Readonly<Record<string, MessageKey>> = {
  sessions: 'privacyDesk.sessions',
  events: 'privacyDesk.events',
  selections: 'privacyDesk.selections',
  conversions: 'privacyDesk.conversions',
  saved_offers: 'privacyDesk.saved_offers',
  coupons: 'privacyDesk.coupons',
  perk_messages: 'privacyDesk.perk_messages',
  history: 'privacyDesk.history',
  attributes: 'privacyDesk.attributes',
  audiences: 'privacyDesk.audiences',
  source_events: 'privacyDesk.source_events',
  experiments: 'privacyDesk.experiments',
  outcomes: 'privacyDesk.outcomes',
  webhooks: 'privacyDesk.webhooks',
};

/** Result of an erasure for each kind of data. Kinds that are not listed are deleted. */
const resultOfErasure: Readonly<Record<string, 'cleared' | 'kept'>> = {
  sessions: 'cleared',
  webhooks: 'cleared',
  events: 'kept',
  selections: 'kept',
  conversions: 'kept',
};

/** Kind of data that each count of an erasure refers to. */
const kindOfCount: Readonly<Record<keyof ErasedCounts, string>> = {
  sessions: 'sessions',
  deliveries: 'webhooks',
  wallet_items: 'saved_offers',
  coupons: 'coupons',
  histories: 'history',
  memberships: 'audiences',
};

/** Maximum length of an identifier, in characters. Fetches have the same limit. */
const maxIdentifierLength = 256;

type Typed = { identifier: string; named_by: IdentifierKind };
/** Number of rows stored about a user, by kind, and the attributes that the publisher has stored. */
type UserSummary = { subject: UserSubject; counts: Map<string, number>; attributes: Attributes[] };
type Attributes = { attributes: Record<string, { value: string | number | boolean }> };

/**
 * Registers the pages for finding, exporting and erasing a user's personal data. The identifier is sent only in form
 * bodies, so that no URL, log or draft contains it.
 */
export function deskPages(app: App, services: Services): void {
  const { desk, management } = services;
  const pages = publisherPages(app, services);
  const act = (then: (context: PublisherContext, subject: UserSubject) => Promise<PageResult>) => {
    return (context: PublisherContext, fields: Fields): Promise<PageResult> => {
      const typed = typedIn(fields);
      const problem = problemOf(typed.identifier);
      if (problem !== null) return show(services, context, { typed, problem });
      const subject = subjectIn(desk, context, typed);
      return typeof subject === 'string'
        ? show(services, context, { typed, problem: subject })
        : then(context, subject);
    };
  };
  pages.get(path, 'admin', (context) => show(services, context, {}));
  pages.post(
    path,
    'admin',
    act(async (context, subject) => {
      const summary = await management.readMoment(context, async (work) => summarise(await desk.read(work, subject)));
      return show(services, context, { summary: { subject, ...summary } });
    }),
  );
  pages.post(
    `${path}/export`,
    'admin',
    act(async (context, subject) => {
      const download = await desk.export(subject, (work) => management.write(context, work));
      return { download, type: 'application/json', name: 'person.json' };
    }),
  );
  pages.post(
    `${path}/erase`,
    'admin',
    act(async (context, subject) => {
      await management.write(context, (work) => desk.erase(work, subject));
      return { to: context.path(path), done: t('privacyDesk.eraseAsked') };
    }),
    { isSensitive: true },
  );
}

async function summarise(data: PersonalData): Promise<Omit<UserSummary, 'subject'>> {
  const summary: Omit<UserSummary, 'subject'> = { counts: new Map(), attributes: [] };
  for (const [kind, slices] of data)
    for await (const rows of slices) {
      summary.counts.set(kind, (summary.counts.get(kind) ?? 0) + rows.length);
      if (kind === 'attributes') summary.attributes.push(...(rows as Attributes[]));
    }
  return summary;
}

const typedIn = (fields: Fields): Typed => ({
  identifier: fields.text('identifier').trim(),
  named_by: identifierKinds.find((kind) => kind === fields.text('named_by')) ?? 'pub_user_id',
});

/** Returns the user identified in the form. If the identifier is invalid, returns an error message. */
function subjectIn(desk: PrivacyDesk, { publisher }: PublisherContext, typed: Typed): UserSubject | string {
  try {
    return desk.subjectOf(publisher.id, { [typed.named_by]: typed.identifier });
  } catch (err) {
    const [unreadable] = err instanceof AppError ? (err.details ?? []) : [];
    if (unreadable === undefined) throw err;
    return wordProblem(unreadable.message);
  }
}

/** Returns why an identifier cannot be searched for, or null if it can. */
function problemOf({ length }: string): string | null {
  if (length === 0) return t('privacyDesk.missing');
  return length <= maxIdentifierLength ? null : t('apiTexts.tooLong', { max: maxIdentifierLength, length });
}

async function show(
  { management, hasDataFiles }: Services,
  context: PublisherContext,
  { summary, typed, problem }: { summary?: UserSummary; typed?: Typed; problem?: string },
): Promise<Page> {
  const cursor = queryText(context, 'cursor');
  const { erasures, next } = await management.read(context, ({ executor, publisherId }) =>
    listErasures(executor, publisherId, { limit: erasuresPerPage, before: isUuid7(cursor) ? cursor : null }),
  );
  const own = context.path(path);
  const requests = erasures.length === 0 ? noRequests() : erasureTable(context, erasures, hasDataFiles);
  const errors = problem === undefined ? [] : [{ path: '/identifier', message: problem }];
  return {
    title: t('nav.privacyDesk'),
    lead: t('privacyDesk.lead'),
    nav: 'privacy-desk',
    status: problem === undefined ? 200 : 422,
    body: html`
      ${card(t('privacyDesk.user'), userForm(context, typed ?? typedOf(summary?.subject), errors))}
      ${summary === undefined ? nothing : foundCard(context, summary)}
      ${card(t('privacyDesk.requests'), requests)}
      ${pager(cursor === '' ? null : own, next === null ? null : `${own}?cursor=${next}`)}`,
  };
}

const typedOf = (subject: UserSubject | undefined): Typed => ({
  identifier: subject?.identifier ?? '',
  named_by: subject?.namedBy ?? 'pub_user_id',
});

function userForm(context: PublisherContext, typed: Typed, errors: FieldErrors): Html {
  const form = createForm(typed, errors);
  const fields = html`
    ${form.summary()}
    ${columns([
      form.input('identifier', {
        label: t('privacyDesk.identifier'),
        hint: t('privacyDesk.identifierHint'),
        required: true,
        secret: true,
        autocomplete: 'off',
      }),
      form.select('named_by', {
        label: t('privacyDesk.namedBy'),
        choices: [
          { value: 'pub_user_id', text: t('privacyDesk.pubUserId') },
          { value: 'ad_fp', text: t('privacyDesk.adFp') },
          { value: 'email', text: t('privacyDesk.email') },
          { value: 'email_sha256', text: t('privacyDesk.emailHash') },
        ],
      }),
    ])}`;
  return saveForm(context, context.path(path), fields, { button: t('privacyDesk.find') });
}

function foundCard(context: PublisherContext, { subject, counts, attributes }: UserSummary): Html {
  const kinds = [...counts].map(([kind, rows]) => [
    nameOf(kind),
    count(rows),
    t(`privacyDesk.result_${resultOfErasure[kind] ?? 'deleted'}`),
  ]);
  if (kinds.length === 0) return card(t('privacyDesk.found'), html`<p>${t('privacyDesk.foundNothing')}</p>`);
  const heads = [
    { text: t('privacyDesk.kind') },
    { text: t('privacyDesk.rows'), numeric: true },
    { text: t('privacyDesk.onErasure') },
  ];
  const values = { identifier: subject.identifier, named_by: subject.namedBy };
  const button = { small: false, values };
  return card(
    t('privacyDesk.found'),
    html`
      ${table(t('privacyDesk.found'), heads, kinds)}
      ${attributeTable(attributes)}
      <div class="actions">
        ${actionButton(context, {
          ...button,
          to: context.path(`${path}/export`),
          text: t('privacyDesk.export'),
          isDownload: true,
        })}
        ${actionButton(context, {
          ...button,
          to: context.path(`${path}/erase`),
          text: t('privacyDesk.erase'),
          kind: 'danger',
          confirm: t('privacyDesk.eraseQuestion'),
        })}
      </div>`,
  );
}

/** Renders a table of the attributes that the publisher has stored. */
function attributeTable(stored: readonly Attributes[]): Html {
  const entries = stored.flatMap(({ attributes }) => Object.entries(attributes));
  if (entries.length === 0) return nothing;
  const heads = [{ text: t('common.name') }, { text: t('privacyDesk.value') }];
  return table(
    t('privacyDesk.attributes'),
    heads,
    entries.map(([name, { value }]) => [html`<code>${name}</code>`, String(value)]),
  );
}

function nameOf(kind: string): string {
  const text = kindTexts[kind];
  return text === undefined ? kind : t(text);
}

const noRequests = (): Html => emptyState('check', t('privacyDesk.noRequests'), t('privacyDesk.noRequestsText'));

const tones: Record<ErasureStatus, Tone> = { pending: 'plain', sweeping: 'info', done: 'good' };

function erasureTable({ publisher }: PublisherContext, erasures: readonly Erasure[], hasDataFiles: boolean): Html {
  const heads = [
    { text: t('privacyDesk.requested') },
    { text: t('privacyDesk.namedBy') },
    { text: t('privacyDesk.state') },
    { text: t('privacyDesk.finished') },
    { text: t('privacyDesk.erased') },
  ];
  const rows = erasures.map((erasure) => {
    const status = statusOf(erasure);
    return [
      html`${moment(publisher, erasure.requestedAt)}<br><code class="hint">${erasure.id}</code>`,
      html`<code translate="no">${erasure.namedBy}</code>`,
      badge(t(`privacyDesk.${status}`), tones[status]),
      momentOr(publisher, erasure.finishedAt),
      erasedText(erasure),
    ];
  });
  return html`
    ${table(t('privacyDesk.requests'), heads, rows)}
    <p class="hint">${t('privacyDesk.erasedHint')}</p>
    ${hasDataFiles && html`<p class="hint">${tHtml('privacyDesk.dataFiles', { link: compactionLink })}</p>`}`;
}

const compactionLink = (text: Html): Html => link('/docs/guides/data-files#erasure-and-compaction', text);

/** Returns the number of erased records by kind, with the same names as in the stored data of a person. */
const erasedText = ({ counts }: Erasure): string =>
  Object.entries(counts)
    .filter(([, records]) => records > 0)
    .map(([name, records]) => `${nameOf(kindOfCount[name as keyof ErasedCounts] ?? name)}: ${count(records)}`)
    .join(', ') || '–';
