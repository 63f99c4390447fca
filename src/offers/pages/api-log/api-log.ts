import type pg from 'pg';
import { type PublisherContext, publisherPages } from '../../../catalog/pages.ts';
import type { CatalogStore } from '../../../catalog/store.ts';
import { createFailFast, type DatabaseHealth } from '../../../platform/db/health.ts';
import { type ErrorCode, errorStatuses } from '../../../platform/errors.ts';
import type { App } from '../../../platform/http/app.ts';
import { type Html, html, nothing } from '../../../platform/http/html.ts';
import { readCursor, writeCursor } from '../../../platform/http/uuid7-cursor.ts';
import { t } from '../../../platform/i18n/messages.ts';
import { dayMs } from '../../../platform/lib/time.ts';
import { problem, wordProblem } from '../../../platform/problem.ts';
import {
  badge,
  type Cell,
  card,
  emptyState,
  link,
  linkButton,
  noMatches,
  pager,
  sparkline,
  strongLink,
  type Tone,
  table,
} from '../../../shell/components.ts';
import { idIn, queryText } from '../../../shell/context.ts';
import { count, milliseconds, moment } from '../../../shell/format.ts';
import { createForm } from '../../../shell/forms.ts';
import type { Page, Shell } from '../../../shell/layout.ts';
import { slowMs } from '../../request-log/api-log.ts';
import { keyNamesOf, maxGroups } from '../../request-log/api-log-routes.ts';
import {
  type ApiLogFilter,
  type CallGroup,
  findApiCalls,
  findCallGroups,
  type StoredCall,
} from '../../request-log/api-log-store.ts';
import { isRefused } from '../../request-log/store.ts';
import { adviceOnCode } from '../live/advice.ts';

type ApiLogDeps = { pool: pg.Pool; dbHealth: DatabaseHealth; catalog: CatalogStore; now: () => number };

const rowsPerPage = 50;
const filterNames = ['days', 'status', 'code', 'route', 'key', 'request_id'] as const;
const dayChoices = ['1', '7', '30'];
const defaultDays = '7';

type TypedFilter = Readonly<Record<(typeof filterNames)[number], string>>;

/** Registers the page with a publisher's API log: calls by route and result, and individual calls. */
export function apiLogPages(app: App, shell: Shell, { pool, dbHealth, catalog, now }: ApiLogDeps): void {
  const failFast = createFailFast(dbHealth);
  publisherPages(app, shell).get('/api-log', 'analyst', async (context): Promise<Page> => {
    const typed = Object.fromEntries(
      filterNames.map((name) => [name, queryText(context, name).trim().slice(0, 256)]),
    ) as TypedFilter;
    const filter = filterOf(typed, context.publisher.id, now());
    const cursor = queryText(context, 'cursor');
    const before = cursor === '' ? null : readCursor(cursor, now());
    const isSingle = filter.requestId !== null;
    const [groups, calls] = await failFast(() =>
      Promise.all([
        isSingle || before !== null
          ? []
          : findCallGroups(pool, filter, {
              untilMs: now(),
              limit: maxGroups,
              onlyProblems: filter.status === null,
            }),
        findApiCalls(pool, filter, { before, limit: rowsPerPage + 1, slowMs }),
      ]),
    );
    const names = keyNamesOf(catalog.current(), context.publisher.id);
    const urlOf = createUrl(context.path('/api-log'), typed);
    const last = calls.length > rowsPerPage ? calls[rowsPerPage - 1] : undefined;
    const isUnfiltered = cursor === '' && Object.values(typed).every((value) => value === '');
    const isEmpty = isUnfiltered && groups.length === 0 && calls.length === 0;
    return {
      title: t('nav.apiLog'),
      lead: t('apiLog.lead'),
      nav: 'apiLog',
      body: isEmpty
        ? emptyState(
            'check',
            t('apiLog.none'),
            t('apiLog.noneText'),
            linkButton(context.path('/integration'), t('nav.integration'), 'main'),
          )
        : html`
          ${filterForm(context.path('/api-log'), typed, names)}
          ${
            groups.length > 0 &&
            card(t('apiLog.groups'), groupTable(context, groups, urlOf), { lead: t('apiLog.groupsLead') })
          }
          ${card(t('apiLog.calls'), callTable(context, calls.slice(0, rowsPerPage), names, isSingle), {
            lead: t('apiLog.callsLead'),
          })}
          ${pager(cursor === '' ? null : urlOf({}), last ? urlOf({ cursor: writeCursor(last.id) }) : null)}`,
    };
  });
}

function filterOf(typed: TypedFilter, publisherId: number, nowMs: number): ApiLogFilter {
  const orNull = (text: string): string | null => (text === '' ? null : text);
  const days = typed.request_id === '' ? daysOf(typed) : '30';
  return {
    publisherId,
    sinceMs: nowMs - Number(days) * dayMs,
    status: /^([1-5](\d\d|xx)|slow)$/.test(typed.status) ? typed.status : null,
    code: orNull(typed.code),
    route: orNull(typed.route),
    keyId: idIn(typed.key) || null,
    requestId: orNull(typed.request_id),
  };
}

const daysOf = ({ days }: TypedFilter): string => (dayChoices.includes(days) ? days : defaultDays);

type UrlOf = (change: Readonly<Record<string, string>>) => string;

/** Creates a function that returns the page's URL with other filter values. */
const createUrl =
  (path: string, typed: TypedFilter): UrlOf =>
  (change) => {
    const query = Object.entries({ ...typed, ...change }).filter(([, value]) => value !== '');
    return query.length === 0 ? path : `${path}?${new URLSearchParams(query)}`;
  };

function filterForm(action: string, typed: TypedFilter, names: ReadonlyMap<number, string>): Html {
  const form = createForm({ ...typed, days: daysOf(typed) });
  const all = { value: '', text: t('common.all') };
  const statuses = [
    { value: '4xx', text: t('apiLog.rejected') },
    { value: '5xx', text: t('apiLog.failed') },
    { value: 'slow', text: t('apiLog.slow') },
    { value: '2xx', text: t('apiLog.accepted') },
  ];
  const isOther = typed.status !== '' && !statuses.some(({ value }) => value === typed.status);
  return html`
    <form class="filters" method="get" action="${action}" role="search">
      ${form.input('request_id', { label: t('apiLog.requestId') })}
      ${form.select('status', {
        label: t('apiLog.result'),
        choices: [all, ...statuses, ...(isOther ? [{ value: typed.status, text: typed.status }] : [])],
      })}
      ${form.input('code', { label: t('apiLog.code') })}
      ${form.input('route', { label: t('apiLog.route') })}
      ${form.select('key', {
        label: t('apiLog.key'),
        choices: [all, ...[...names].map(([id, name]) => ({ value: String(id), text: name }))],
      })}
      ${form.select('days', {
        label: t('apiLog.period'),
        choices: dayChoices.map((value) => ({ value, text: t('apiLog.days', { count: Number(value) }) })),
      })}
      <button class="button">${t('common.apply')}</button>
    </form>`;
}

const toneOf = (status: number): Tone => (status >= 500 ? 'bad' : isRefused(status) ? 'warn' : 'good');

/** Returns the default message for an error code in the reader's language, or the code itself. */
const codeText = (code: string): string =>
  Object.hasOwn(errorStatuses, code) ? wordProblem(problem(code as ErrorCode)) : code;

const groupTable = ({ publisher }: PublisherContext, groups: readonly CallGroup[], urlOf: UrlOf): Html =>
  table(
    t('apiLog.groups'),
    [
      { text: t('apiLog.result') },
      { text: t('apiLog.route') },
      { text: t('apiLog.count'), numeric: true },
      { text: t('apiLog.trend') },
      { text: t('apiLog.first') },
      { text: t('apiLog.last') },
    ],
    groups.map((group) => {
      const { method, route, status, code, calls, slow } = group;
      const isSlow = code === null && slow > 0;
      const url = urlOf({ status: isSlow ? 'slow' : String(status), code: code ?? '', route });
      const text =
        code === null ? t('apiLog.averageMs', { ms: milliseconds(Math.round(group.averageMs)) }) : codeText(code);
      const advice = code === null ? null : adviceOnCode(code, publisher);
      return [
        html`
          ${badge(String(status), isSlow ? 'warn' : toneOf(status))}
          ${strongLink(url, code ?? (isSlow ? t('apiLog.slowBadge') : t('apiLog.accepted')))}
          <div class="hint">${text}${advice !== null && html` ${advice}`}</div>`,
        html`<code>${method} ${route}</code>`,
        html`${count(calls)}${slow > 0 && html`<div class="hint">${t('apiLog.slowCalls', { count: slow })}</div>`}`,
        group.days.length > 1 ? sparkline(group.days) : nothing,
        moment(publisher, group.firstAt),
        moment(publisher, group.lastAt),
      ];
    }),
  );

function callTable(
  { publisher, path }: PublisherContext,
  calls: readonly StoredCall[],
  names: ReadonlyMap<number, string>,
  isSingle: boolean,
): Html {
  if (calls.length === 0) return isSingle ? html`<p class="hint">${t('apiLog.notStored')}</p>` : noMatches();
  const keyText = (keyId: number | null): Cell =>
    keyId === null ? '–' : link(path('/settings/keys'), names.get(keyId) ?? t('apiLog.revokedKey', { id: keyId }));
  return table(
    t('apiLog.calls'),
    [
      { text: t('apiLog.time') },
      { text: t('apiLog.result') },
      { text: t('apiLog.call') },
      { text: t('apiLog.duration'), numeric: true },
      { text: t('apiLog.key') },
      { text: t('apiLog.requestId') },
    ],
    calls.map(({ at, method, path: called, status, ms, code, fields, requestId, keyId }) => [
      moment(publisher, at, 'second'),
      html`
        ${badge(String(status), toneOf(status))}
        ${code !== null && html`<span title="${codeText(code)}">${code}</span>`}
        ${fields.length > 0 && html`<div class="hint">${fields.map((field) => html`<code>${field}</code> `)}</div>`}`,
      html`<code>${method} ${called}</code>`,
      milliseconds(Math.round(ms)),
      keyText(keyId),
      html`<code>${requestId}</code>`,
    ]),
  );
}
