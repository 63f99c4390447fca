import { type PublisherContext, publisherPages } from '../../catalog/pages.ts';
import type { View } from '../../management/resource.ts';
import { permissionsOf } from '../../management/unit-of-work.ts';
import type { App } from '../../platform/http/app.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t, tHtml } from '../../platform/i18n/messages.ts';
import {
  actionButton,
  badge,
  card,
  copyable,
  emptyState,
  notice,
  pager,
  saveForm,
  table,
} from '../../shell/components.ts';
import { type FieldErrors, type Fields, fieldErrorsOf, keyIn, queryText } from '../../shell/context.ts';
import { localToInstant, moment } from '../../shell/format.ts';
import { columns, createForm, type FormBuilder, moreFields, splitList } from '../../shell/forms.ts';
import type { Page } from '../../shell/layout.ts';
import { createKey, keyAdditions, keysOf, mostDaysOf } from '../keys.ts';
import type { PageServices } from './services.ts';

type Picker = ReturnType<PageServices['pickerFor']>;

type TypedKey = {
  name: string;
  permissions: string[];
  expires_at: string;
  read_only: boolean;
  allowed_addresses: string;
  campaigns: string;
  placements: string;
};
type State = { errors?: FieldErrors; typed?: TypedKey; secret?: string };

const keysPerPage = 50;

/** Registers the API key pages. A key is shown only once, when it is created. */
export function keyPages(app: App, services: PageServices): void {
  const pages = publisherPages(app, services);
  pages.get('/settings/keys', 'admin', (context) => show(services, context));
  pages.post('/settings/keys', 'admin', (context, fields) => create(services, context, fields), {
    isSensitive: true,
  });
  const revoke = async (context: PublisherContext) => {
    const view = await services.management.remove(context, keysOf(services.management.permissions), keyIn(context));
    return {
      to: context.path('/settings/keys'),
      done: t('settings.keyRevoked', { name: String(view.name) }),
    };
  };
  pages.post('/settings/keys/:key/revoke', 'admin', revoke, { isSensitive: true });
}

async function create(services: PageServices, context: PublisherContext, fields: Fields): Promise<Page> {
  const typed = {
    name: fields.text('name'),
    permissions: fields.all('permissions'),
    expires_at: fields.text('expires_at'),
    read_only: fields.checked('read_only'),
    allowed_addresses: fields.text('allowed_addresses'),
    campaigns: fields.text('campaigns'),
    placements: fields.text('placements'),
  };
  const { timeZone } = context.publisher;
  const expiresAt = typed.expires_at === '' ? null : localToInstant(typed.expires_at, timeZone);
  try {
    const { management } = services;
    const { secret } = await management.write(context, (work) =>
      createKey(keysOf(management.permissions), work, {
        ...typed,
        expires_at: expiresAt,
        allowed_addresses: listOrNull(typed.allowed_addresses),
        campaigns: listOrNull(typed.campaigns)?.map(idOf) ?? null,
        placements: listOrNull(typed.placements),
      }),
    );
    return show(services, context, { secret });
  } catch (err) {
    return show(services, context, { typed, errors: fieldErrorsOf(err) });
  }
}

const listOrNull = (text: string): string[] | null => {
  const items = splitList(text);
  return items.length === 0 ? null : items;
};

/** Parses an ID. Returns any other text unchanged, so that validation reports it. */
const idOf = (text: string): number | string => (/^\d{1,9}$/.test(text) ? Number(text) : text);

async function show(services: PageServices, context: PublisherContext, state: State = {}): Promise<Page> {
  const { management } = services;
  const cursor = queryText(context, 'cursor');
  const { rows, nextCursor } = await management.list(context, keysOf(management.permissions), {
    limit: String(keysPerPage),
    sort: '-id',
    ...(cursor !== '' && { cursor }),
  });
  const [uses, mostDays] = await management.read(context, (work) =>
    Promise.all([keyAdditions.read(work, rows), mostDaysOf(work)]),
  );
  const { publisher } = context;
  const path = context.path('/settings/keys');
  const next = nextCursor === null ? null : `${path}?${new URLSearchParams({ cursor: nextCursor })}`;
  return {
    title: t('nav.keys'),
    lead: tHtml('settings.keysLead', { id: publisher.sdkId }),
    nav: 'keys',
    assets: ['pickers.js'],
    status: (state.errors ?? []).length > 0 ? 422 : 200,
    body: html`
      ${state.secret !== undefined && secretNotice(state.secret)}
      ${
        rows.length === 0
          ? noKeys()
          : keyTable(
              services,
              context,
              rows.map((row) => ({ ...row, ...uses(row) })),
            )
      }
      ${pager(cursor === '' ? null : path, next)}
      ${card(t('settings.createApiKey'), keyForm(services, context, mostDays, state))}`,
  };
}

const noKeys = (): Html => emptyState('keys', t('settings.noKeys'), t('settings.noKeysText'));

const secretNotice = (secret: string): Html =>
  notice(
    'done',
    html`
      <p>${tHtml('settings.keyCreated')}</p>
      ${copyable(secret, t('settings.apiKey'))}`,
  );

const keyColumns = () => [
  { text: t('common.name') },
  { text: t('settings.permissions') },
  { text: t('settings.expires') },
  { text: t('settings.created') },
  { text: t('settings.lastUsed') },
  { text: t('common.actions'), hidden: true },
];

function keyTable({ pickerFor }: PageServices, context: PublisherContext, rows: readonly View[]): Html {
  const { path, publisher } = context;
  const picker = pickerFor(context);
  const revoke = (row: View) =>
    actionButton(context, {
      to: path(`/settings/keys/${row.id}/revoke`),
      text: t('settings.revoke'),
      small: true,
      kind: 'quiet',
      confirm: t('settings.revokeQuestion', { name: String(row.name) }),
    });
  const cells = rows.map((row) => [
    html`<strong>${String(row.name)}</strong>
      ${row.hint !== '' && html`<br><code class="hint">${String(row.hint)}…</code>`}`,
    html`${(row.permissions as string[]).map((permission) => html`<span translate="no">${badge(permission)}</span> `)}
      ${restrictionsCell(row, picker)}`,
    row.expires_at === null ? t('settings.never') : moment(publisher, String(row.expires_at)),
    moment(publisher, String(row.created_at), 'day'),
    row.last_used_at === null ? t('settings.never') : moment(publisher, String(row.last_used_at)),
    html`<div class="row-actions">${revoke(row)}</div>`,
  ]);
  return table(t('nav.keys'), keyColumns(), cells);
}

/**
 * Renders the restrictions that a key has in addition to its permissions. The cell's tooltip lists the client
 * addresses.
 */
function restrictionsCell(row: View, picker: Picker): Html {
  const addresses = row.allowed_addresses as string[] | null;
  const campaigns = row.campaigns as number[] | null;
  const placements = row.placements as string[] | null;
  return html`
    ${row.read_only === true && html`${badge(t('settings.readOnlyKey'))} `}
    ${
      campaigns !== null &&
      restriction(t('settings.someCampaigns', { count: campaigns.length, names: namesOf(campaigns, picker) }))
    }
    ${
      placements !== null &&
      restriction(t('settings.somePlacements', { count: placements.length, names: placements.join(', ') }))
    }
    ${
      addresses !== null &&
      html`
        <span title="${addresses.join(', ')}">
          ${badge(t('settings.someAddresses', { count: addresses.length }))}
        </span>`
    }`;
}

const restriction = (text: string): Html => html`<p class="hint">${text}</p>`;

/** Returns the names of campaigns, or the IDs of those that were removed. */
function namesOf(ids: readonly number[], picker: Picker): string {
  const { labels } = picker('campaigns', ids.join(', '));
  return ids.map((id) => labels[id] ?? id).join(', ');
}

const emptyKey: TypedKey = {
  name: '',
  permissions: ['ads/offers'],
  expires_at: '',
  read_only: false,
  allowed_addresses: '',
  campaigns: '',
  placements: '',
};

/** Renders the form for a new key. `mostDays` is the maximum lifetime of a new key, or null if there is no limit. */
function keyForm(
  { management: { permissions }, pickerFor }: PageServices,
  context: PublisherContext,
  mostDays: number | null,
  { typed = emptyKey, errors }: State,
): Html {
  const { path, publisher, viewer } = context;
  const form = createForm(typed, errors);
  const picker = pickerFor(context);
  const ownPermissions = permissionsOf(viewer.user.role, permissions);
  const grantable = permissions.filter(({ name }) => ownPermissions.has(name));
  const fields = html`
    ${form.summary()}
    ${columns([
      form.input('name', { label: t('common.name'), required: true, hint: t('settings.keyNameHint') }),
      form.input('expires_at', {
        label: t('settings.expires'),
        type: 'datetime-local',
        hint:
          mostDays === null
            ? t('settings.expiresHint', { zone: publisher.timeZone })
            : t('settings.expiresWithin', { zone: publisher.timeZone, days: mostDays }),
        required: mostDays !== null,
      }),
    ])}
    ${form.checkboxes('permissions', {
      label: t('settings.permissions'),
      choices: grantable.map(({ name, text }) => ({
        value: name,
        text: t('settings.permission', { permission: name, text: t(text) }),
      })),
    })}
    ${moreFields(t('settings.keyRestrictions'), restrictionFields(form, picker), {
      isOpen: typed.read_only || `${typed.campaigns}${typed.placements}${typed.allowed_addresses}` !== '',
    })}`;
  return saveForm(context, path('/settings/keys'), fields, { button: t('settings.createKey'), once: true });
}

const restrictionFields = (form: FormBuilder, picker: Picker): Html => html`
  ${columns([
    form.input('campaigns', {
      label: t('settings.keyCampaigns'),
      hint: t('settings.keyCampaignsHint'),
      picker: picker('campaigns', form.values.campaigns),
    }),
    form.input('placements', {
      label: t('settings.keyPlacements'),
      hint: t('settings.keyPlacementsHint'),
      picker: picker('placements', form.values.placements),
    }),
  ])}
  ${form.textarea('allowed_addresses', {
    label: t('settings.allowedAddresses'),
    rows: 2,
    hint: t('settings.allowedAddressesHint'),
  })}
  ${form.checkbox('read_only', { label: t('settings.readOnlyKey'), hint: t('settings.readOnlyKeyHint') })}`;
