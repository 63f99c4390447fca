import type { PublisherContext } from '../../catalog/pages.ts';
import { type Html, html, nothing } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { readProblem, wordProblem } from '../../platform/problem.ts';
import {
  actionButton,
  badge,
  type Cell,
  card,
  hiddenField,
  icon,
  link,
  saveForm,
  table,
} from '../../shell/components.ts';
import { type FieldErrors, type FormValues, hasRole } from '../../shell/context.ts';
import { count } from '../../shell/format.ts';
import { createForm, moreFields } from '../../shell/forms.ts';
import { recentDays } from '../inbox.ts';
import { type AlertKind, alertKinds, isAlertKind, kindOfEvent } from '../kinds.ts';
import { type Channel, maxChannels } from '../rules.ts';
import { allAlertsPath } from './inbox.ts';

/** Name of the hidden fields with the names of the columns that the user could edit. */
export const columnsField = 'columns';
/** Name of the hidden field with the alert kinds that the table contained. */
export const kindsField = 'kinds';
/** Name of the hidden field with the alert kinds of a column that were selected when the table was rendered. */
export const selectedBefore = (column: string): string => `${column}.was`;
/** Name of the column for e-mails, which is also the name of its checkboxes. */
export const mailColumn = 'mail';
export const columnOfChannel = (id: number): string => `channel.${id}`;

/** Destinations of a publisher's alerts, with the alert kinds that each receives. */
export type Destinations = {
  /** Alert kinds that the viewer receives by e-mail, or null if the server cannot send e-mails. */
  mail: readonly AlertKind[] | null;
  channels: readonly Channel[];
  /** Number of webhook endpoints that receive each event. */
  receivers: ReadonlyMap<string, number>;
  /** Number of alerts of each kind in the last 30 days. */
  recent: ReadonlyMap<string, number>;
};

const eventOfKind = new Map(Object.entries(kindOfEvent).map(([event, kind]) => [kind, event]));

const isManager = ({ viewer }: PublisherContext): boolean => hasRole(viewer.user.role, 'manager');

/** Renders the card with a table of alert kinds and destinations, in which the viewer selects who is notified. */
export function rulesCard(
  context: PublisherContext,
  { mail, channels, receivers, recent }: Destinations,
  below: Html,
): Html {
  const canEdit = isManager(context);
  const columns = [
    ...(mail === null ? [] : [{ name: mailColumn, text: t('alerts.email'), kinds: mail, canEdit: true }]),
    ...channels.map(({ id, name, kinds }) => ({ name: columnOfChannel(id), text: name, kinds, canEdit })),
  ];
  const headings = [
    t('alerts.alert'),
    t('alerts.inbox'),
    t('alerts.recent', { days: recentDays }),
    ...columns.map(({ text }) => text),
    t('alerts.webhook'),
  ];
  const rows = (Object.keys(alertKinds) as AlertKind[]).map((kind): Cell[] => [
    t(alertKinds[kind]),
    html`<span role="img" aria-label="${t('alerts.inInbox')}">${icon('check')}</span>`,
    recentCell(context, kind, recent.get(kind) ?? 0),
    ...columns.map((column) => kindBox(kind, column)),
    webhookCell(context, kind, receivers),
  ]);
  const columnFields = columns
    .filter((column) => column.canEdit)
    .map(({ name, kinds }) => {
      const selected = kinds.filter(isAlertKind).join(' ');
      return html`${hiddenField(columnsField, name)}${hiddenField(selectedBefore(name), selected)}`;
    });
  const grid = html`<div class="matrix">${table(
    t('alerts.rules'),
    headings.map((text) => ({ text })),
    rows,
  )}</div>`;
  const hint = mail === null ? t('alerts.noMailServer') : t('alerts.mailHint', { email: context.viewer.user.email });
  const kindFields = hiddenField(kindsField, Object.keys(alertKinds).join(' '));
  const body = html`${columnFields}${kindFields}${grid}<p class="hint">${hint}</p>`;
  const test = { to: context.path('/alerts/mail-test'), text: t('alerts.testMail'), small: true };
  return card(
    t('alerts.rules'),
    html`
      ${
        columnFields.length === 0
          ? body
          : saveForm(context, context.path('/alerts/rules'), body, { page: context.path('/alerts') })
      }
      ${below}`,
    { lead: t('alerts.rulesLead'), ...(mail !== null && { actions: actionButton(context, test) }) },
  );
}

/** Renders how often an alert kind occurred recently, which is how often its recipients would have been notified. */
const recentCell = ({ path }: PublisherContext, kind: AlertKind, alerts: number): Html =>
  alerts === 0 ? nothing : link(path(`${allAlertsPath}?kind=${kind}`), count(alerts));

type BoxColumn = { name: string; text: string; kinds: readonly AlertKind[]; canEdit: boolean };

function kindBox(kind: AlertKind, { name, text, kinds, canEdit }: BoxColumn): Html {
  const label = t('alerts.boxLabel', { alert: t(alertKinds[kind]), to: text });
  const state = html`${kinds.includes(kind) && html` checked`}${!canEdit && html` disabled`}`;
  return html`<label><input type="checkbox" name="${name}" value="${kind}" aria-label="${label}"${state}></label>`;
}

/** Renders the number of webhook endpoints that receive the event of an alert kind, or a link to add one. */
function webhookCell({ path, viewer }: PublisherContext, kind: AlertKind, receivers: Destinations['receivers']): Html {
  const event = eventOfKind.get(kind);
  if (event === undefined) return nothing;
  const endpoints = receivers.get(event) ?? 0;
  if (endpoints > 0) return link(path('/settings/webhooks/all'), count(endpoints));
  if (!hasRole(viewer.user.role, 'admin')) return html`0`;
  return link(path(`/settings/webhooks/${event}`), t('alerts.addWebhook'));
}

/** Renders the card with the publisher's Slack-compatible webhooks. */
export function channelsCard(
  context: PublisherContext,
  channels: readonly Channel[],
  { typed = {}, errors = [] }: { typed?: FormValues; errors?: FieldErrors },
): Html {
  const canWrite = isManager(context);
  const form = createForm(typed, errors);
  const fields = html`
    ${form.summary()}
    ${form.input('name', { label: t('common.name'), required: true, hint: t('alerts.nameHint') })}
    ${form.input('url', {
      label: t('alerts.webhookUrl'),
      type: 'url',
      required: true,
      placeholder: t('alerts.urlExample'),
      secret: true,
    })}
    <p class="hint">${t('alerts.addHint')}</p>`;
  const add = saveForm(context, context.path('/alerts/channels'), fields, {
    button: t('alerts.addAndSend'),
    once: true,
    page: context.path('/alerts'),
  });
  const body = html`
    ${channels.length > 0 && channelTable(context, channels, canWrite)}
    ${
      canWrite &&
      channels.length < maxChannels &&
      moreFields(t('alerts.addChannel'), add, { isOpen: errors.length > 0 })
    }
    ${!canWrite && channels.length === 0 && html`<p class="hint">${t('alerts.noChannels')}</p>`}`;
  return card(t('alerts.channels'), body, { lead: t('alerts.channelsLead') });
}

function channelTable(context: PublisherContext, channels: readonly Channel[], canWrite: boolean): Html {
  const test = ({ id }: Channel) =>
    actionButton(context, {
      to: context.path(`/alerts/channels/${id}/test`),
      text: t('alerts.sendTest'),
      small: true,
    });
  const remove = ({ id, name }: Channel) =>
    actionButton(context, {
      to: context.path(`/alerts/channels/${id}/remove`),
      text: t('common.remove'),
      small: true,
      confirm: t('alerts.removeConfirm', { name }),
    });
  const columns = [
    { text: t('alerts.channel') },
    { text: t('alerts.state') },
    { text: t('common.actions'), hidden: true },
  ];
  const cells = channels.map((channel) => [
    channel.name,
    channel.error === null
      ? badge(t('alerts.works'), 'good')
      : badge(t('alerts.failed', { error: wordProblem(readProblem(channel.error)) }), 'bad'),
    canWrite ? html`${test(channel)} ${remove(channel)}` : nothing,
  ]);
  return table(t('alerts.channels'), columns, cells);
}
