import { type PublisherContext, publisherPages } from '../catalog/pages.ts';
import type { ApiKey, Snapshot } from '../catalog/types.ts';
import type { ManagementClient } from '../management/page-client.ts';
import { notFound } from '../platform/errors.ts';
import type { App } from '../platform/http/app.ts';
import { type Html, html, nothing } from '../platform/http/html.ts';
import { t, tHtml } from '../platform/i18n/messages.ts';
import { minuteMs } from '../platform/lib/time.ts';
import { isUuid7 } from '../platform/lib/uuid7.ts';
import {
  actionButton,
  badge,
  type Cell,
  card,
  copyable,
  emptyState,
  link,
  linkButton,
  notice,
  pager,
  saveForm,
  type Tone,
  table,
} from '../shell/components.ts';
import {
  type FieldErrors,
  type Fields,
  type FormValues,
  fieldErrorsOf,
  type PortalPermission,
  pathText,
  queryText,
} from '../shell/context.ts';
import { moment } from '../shell/format.ts';
import { columns, createForm } from '../shell/forms.ts';
import type { Page, Shell } from '../shell/layout.ts';
import { type ListedLink, type linkStates, listLinks, maxLifetimeMs, stateOf } from './links.ts';
import { endLink, makeLink, portalPermissions } from './manage.ts';

type LinksPageDeps = {
  catalog: { current: () => Snapshot };
  management: ManagementClient;
  config: { publicUrl: string };
};

/** URL path of the page with the portal links of a publisher. */
export const linksPath = '/settings/portal-links';

const linksPerPage = 50;

type State = { typed?: FormValues; errors?: FieldErrors; created?: { url: string } };

/** Registers the page that lists, creates and revokes the portal links of a publisher (docs/guides/portal.md). */
export function portalLinkPages(app: App, shell: Shell, deps: LinksPageDeps): void {
  const pages = publisherPages(app, shell);
  pages.get(linksPath, 'admin', (context) => linksPage(deps, context));
  pages.post(linksPath, 'admin', (context, fields) => create(deps, context, fields), { isSensitive: true });
  pages.post(`${linksPath}/:id/revoke`, 'admin', async (context) => {
    const id = pathText(context, 'id');
    if (!isUuid7(id)) throw notFound('portal link');
    await deps.management.write(context, (work) => endLink(work, context.publisher.id, id));
    return { to: context.path(linksPath), done: t('portal.revoked') };
  });
}

const permissionText = (name: (typeof portalPermissions)[number]): string =>
  t(`portal.permission_${name.replace('/', '_') as 'deliveries'}`);

/** Returns the API keys with which the publisher can create links. A link ends with its key. */
const keysFor = ({ catalog }: LinksPageDeps, publisherId: number, nowMs: number): ApiKey[] =>
  [...catalog.current().keys.values()].filter(
    (key) =>
      key.publisherId === publisherId &&
      key.permissions.has('configurations') &&
      (key.expiresAtMs === null || key.expiresAtMs > nowMs),
  );

async function create(deps: LinksPageDeps, context: PublisherContext, fields: Fields): Promise<Page> {
  const { management, config } = deps;
  const typed = {
    user: fields.text('user'),
    permissions: fields.all('permissions'),
    frame_origin: fields.text('frame_origin'),
    minutes: fields.text('minutes'),
    key_id: fields.text('key_id'),
  };
  const refuse = (errors: FieldErrors) => linksPage(deps, context, { typed, errors });
  const key = keysFor(deps, context.publisher.id, management.now()).find(({ id }) => String(id) === typed.key_id);
  const permissions: PortalPermission[] = portalPermissions.filter((name) => typed.permissions.includes(name));
  const minutes = Number(typed.minutes);
  const errors = [
    ...(permissions.length === 0 ? [{ path: '/permissions', message: t('portal.choosePermission') }] : []),
    ...(key === undefined ? [{ path: '/key_id', message: t('portal.chooseKey') }] : []),
    ...(Number.isInteger(minutes) && minutes >= 1 && minutes <= maxLifetimeMs / minuteMs
      ? []
      : [{ path: '/minutes', message: t('portal.minutesRange') }]),
    ...(typed.user.length <= 200 ? [] : [{ path: '/user', message: t('portal.userLength') }]),
  ];
  if (errors.length > 0 || key === undefined) return refuse(errors);
  try {
    const created = await management.write(context, (work) =>
      makeLink(work, config, {
        keyId: key.id,
        permissions,
        theme: {},
        language: null,
        frameOrigin: typed.frame_origin.trim().replace(/\/$/, ''),
        userLabel: typed.user.trim(),
        expiresMs: Math.min(work.nowMs + minutes * minuteMs, key.expiresAtMs ?? Number.POSITIVE_INFINITY),
      }),
    );
    return linksPage(deps, context, { created });
  } catch (err) {
    return refuse(fieldErrorsOf(err));
  }
}

async function linksPage(deps: LinksPageDeps, context: PublisherContext, state: State = {}): Promise<Page> {
  const { management } = deps;
  const { publisher, path } = context;
  const cursor = queryText(context, 'cursor');
  const before = isUuid7(cursor) ? cursor : null;
  const links = await management.read(context, ({ executor }) =>
    listLinks(executor, { publisherId: publisher.id, before, limit: linksPerPage + 1 }),
  );
  const visible = links.slice(0, linksPerPage);
  const last = links.length > visible.length ? visible.at(-1) : undefined;
  const keys = keysFor(deps, publisher.id, management.now());
  return {
    title: t('portal.links'),
    lead: tHtml('portal.linksLead', { guide: (text) => link('/docs/guides/portal', text) }),
    nav: 'portal-links',
    status: (state.errors ?? []).length > 0 ? 422 : 200,
    body: html`
      ${state.created !== undefined && createdNotice(state.created.url)}
      ${
        visible.length === 0
          ? emptyState(
              'portal',
              t('portal.noLinks'),
              t('portal.noLinksText'),
              keys.length === 0 ? keyButton(context) : nothing,
            )
          : linkTable(context, visible, management.now())
      }
      ${pager(
        before === null ? null : path(linksPath),
        last === undefined ? null : `${path(linksPath)}?cursor=${last.id}`,
      )}
      ${
        (keys.length > 0 || visible.length > 0) &&
        card(t('portal.create'), linkForm(context, keys, state), { lead: t('portal.createLead') })
      }`,
  };
}

const keyButton = ({ path }: PublisherContext): Html =>
  linkButton(path('/settings/keys'), t('settings.createApiKey'), 'main');

const createdNotice = (url: string): Html =>
  notice(
    'done',
    html`
      <p>${t('portal.created')}</p>
      ${copyable(url, t('portal.url'))}
      ${copyable(`<iframe src="${url}" title="Webhooks" width="100%" height="900"></iframe>`, t('portal.frame'))}`,
  );

const tones: Record<(typeof linkStates)[number], Tone> = {
  waiting: 'info',
  open: 'good',
  expired: 'plain',
  revoked: 'bad',
};

function linkTable(context: PublisherContext, links: readonly ListedLink[], nowMs: number): Html {
  const { publisher, path } = context;
  const headings = [
    ...[t('portal.user'), t('settings.permissions'), t('portal.frameOrigin'), t('common.status')],
    ...[t('portal.openedAt'), t('portal.expiresAt'), t('portal.createdBy')],
  ];
  const cellsOf = (listed: ListedLink): Cell[] => {
    const state = stateOf(listed, nowMs);
    const isRevocable = state === 'waiting' || state === 'open';
    const revoke = actionButton(context, {
      to: path(`${linksPath}/${listed.id}/revoke`),
      text: t('settings.revoke'),
      small: true,
      kind: 'quiet',
      confirm: t('portal.revokeQuestion', { name: listed.user_label || '–' }),
    });
    return [
      html`<strong>${listed.user_label || '–'}</strong>`,
      html`${listed.permissions.map((name) => html`<span translate="no">${badge(name)}</span> `)}`,
      listed.frame_origin,
      html`
        ${badge(t(`portal.state_${state}`), tones[state])}
        ${listed.revoked_at !== null && html`<br><small>${moment(publisher, listed.revoked_at)}</small>`}`,
      openedCell(context, listed),
      moment(publisher, listed.expires_at),
      html`${listed.created_by || '–'}<br><small>${moment(publisher, listed.created_at)}</small>`,
      html`<div class="row-actions">${isRevocable && revoke}</div>`,
    ];
  };
  return table(
    t('portal.links'),
    [...headings.map((text) => ({ text })), { text: t('common.actions'), hidden: true }],
    links.map(cellsOf),
  );
}

const openedCell = ({ publisher }: PublisherContext, { opened_at: at, is_opened: isOpened }: ListedLink): Cell => {
  if (at !== null) return moment(publisher, at);
  return isOpened ? t('portal.wasOpened') : t('portal.never');
};

function linkForm(context: PublisherContext, keys: readonly ApiKey[], { typed, errors }: State): Html {
  if (keys.length === 0) return html`<p>${t('portal.needsKey')}</p><p>${keyButton(context)}</p>`;
  const defaults = {
    user: '',
    permissions: ['deliveries'],
    frame_origin: '',
    minutes: '60',
    key_id: String(keys[0]?.id),
  };
  const form = createForm(typed ?? defaults, errors);
  const fields = html`
    ${form.summary()}
    ${columns([
      form.input('user', { label: t('portal.user'), hint: t('portal.userHint'), autocomplete: 'off' }),
      form.input('frame_origin', {
        label: t('portal.frameOrigin'),
        hint: t('portal.frameOriginHint'),
        placeholder: 'https://',
        required: true,
        type: 'url',
      }),
    ])}
    ${form.checkboxes('permissions', {
      label: t('settings.permissions'),
      choices: portalPermissions.map((value) => ({ value, text: permissionText(value) })),
    })}
    ${columns([
      form.input('minutes', { label: t('portal.minutes'), type: 'number', min: 1, max: maxLifetimeMs / minuteMs }),
      form.select('key_id', {
        label: t('settings.apiKey'),
        hint: t('portal.keyHint'),
        choices: keys.map(({ id, name }) => ({ value: String(id), text: name })),
      }),
    ])}`;
  return saveForm(context, context.path(linksPath), fields, { button: t('portal.create'), once: true });
}
