import { materialFields } from '../../catalog-admin/approval.ts';
import { type Html, html } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';
import { emptyState, link, pager, table } from '../../shell/components.ts';
import { queryText } from '../../shell/context.ts';
import { fieldName, moment } from '../../shell/format.ts';
import type { Page } from '../../shell/layout.ts';
import { type AdvertiserContext, type PageServices, zoneOf } from './services.ts';

const rowsPerPage = 50;

type Entry = {
  id: string;
  at: Date;
  actor: string | null;
  action: string;
  resource: string;
  resource_id: string;
  name: string;
  /** Whether the item was removed, so that it has no page. */
  is_removed: boolean;
  fields: string[];
};

/** Audit log fields that advertisers can see. Other fields are internal to the publisher. */
const visibleFields = [
  ...new Set([...Object.values(materialFields).flat(), 'state', 'reason', 'active', 'name', 'stopped']),
];

/**
 * Renders the changes to an advertiser's campaigns, offers and drafts. Only the advertiser's own accounts are named.
 */
export async function activityPage(services: PageServices, context: AdvertiserContext): Promise<Page> {
  const { management } = services;
  const cursor = queryText(context, 'before');
  const before = /^[1-9]\d{0,17}$/.test(cursor) ? cursor : null;
  const { id } = context.advertiser;
  const entries = await management.read(context, async ({ executor, publisherId }) => {
    const { rows } = await executor.query<Entry>(
      `with own as (select id, name, deleted_at from campaigns where publisher_id = $1 and advertiser_id = $2),
      named as (
        select 'campaigns' as resource, id::text as resource_id, name, deleted_at is not null as is_removed from own
        union all select 'offers', id::text, title, deleted_at is not null from offers
          where campaign_id in (select id from own)
        union all select 'drafts', id::text, subject, false from drafts where publisher_id = $1 and advertiser_id = $2
      )
      select * from (
        select l.id, l.at, l.action, l.resource, l.resource_id, named.name, named.is_removed,
          (select u.email from memberships m join users u on u.id = m.user_id
            where m.advertiser_id = $2 and l.actor_kind = 'user' and m.user_id = l.actor_id) as actor,
          array(select key from jsonb_object_keys(l.changes) key where key = any($3) order by key) as fields
        from named join audit_log l on l.publisher_id = $1 and l.resource = named.resource
          and l.resource_id = named.resource_id
        where $4::bigint is null or l.id < $4
      ) entry where fields <> '{}' order by id desc limit ${rowsPerPage}`,
      [publisherId, id, visibleFields, before],
    );
    return rows;
  });
  const path = context.path('/activity');
  const next = entries.length < rowsPerPage ? null : `${path}?before=${entries.at(-1)?.id}`;
  const columns = [t('advertiser.time'), t('advertiser.who'), t('advertiser.item'), t('drafts.changes')];
  return {
    title: t('nav.activity'),
    lead: t('advertiser.activityLead'),
    nav: 'advertiser-activity',
    body: html`
      ${
        entries.length === 0
          ? emptyState('activity', t('activity.none'), t('advertiser.noChanges'))
          : table(
              t('nav.activity'),
              columns.map((text) => ({ text })),
              entries.map((entry) => [
                moment(zoneOf(services, context), entry.at, 'second'),
                entry.actor ?? t('layout.publisher'),
                itemCell(context, entry),
                entry.fields.map(fieldName).join(', '),
              ]),
            )
      }
      ${pager(before === null ? null : path, next)}`,
  };
}

/** Renders the kind and the name of an item, with a link to its page. */
function itemCell(
  { path }: AdvertiserContext,
  { resource, resource_id: id, name, is_removed: isRemoved }: Entry,
): Html {
  const text = name === '' ? `#${id}` : name;
  return html`${t(kinds[resource] ?? 'nav.drafts')}: ${isRemoved ? text : link(path(`/${resource}/${id}`), text)}`;
}

const kinds = { campaigns: 'dimensions.campaign', offers: 'dimensions.offer', drafts: 'drafts.subject' } as Record<
  string,
  'dimensions.campaign' | 'dimensions.offer' | 'drafts.subject'
>;
