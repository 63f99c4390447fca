import { offerLimits } from '../../catalog/names.ts';
import type { Resource, Values, View } from '../../management/resource.ts';
import { columnsOf, createRow, getRow, viewOf } from '../../management/rows.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { t } from '../../platform/i18n/messages.ts';
import { campaigns } from './campaigns.ts';
import { creatives } from './creatives.ts';
import { offers } from './offers.ts';

/** Maximum length of a campaign name, in characters. */
const maxNameLength = 200;

/** Returns the name of a copy, in the reader's language. */
function copyNameOf(name: unknown, maxLength: number): string {
  const suffix = ` ${t('crud.copySuffix')}`;
  return [...String(name)].slice(0, maxLength - suffix.length).join('') + suffix;
}

/**
 * Duplicates a campaign with its offers and their creatives. The copy is paused, and served only to its owner.
 * @throws AppError resource_not_found
 */
export async function duplicateCampaign(work: Work, id: string): Promise<View> {
  const campaign = await getRow(campaigns, work, id);
  const name = copyNameOf(campaign.name, maxNameLength);
  const copy = await createRow(campaigns, work, { ...inputOf(campaigns, campaign), name, active: false });
  for (const offer of await rowsOf(offers, work, 'campaign_id', campaign.id))
    await copyOffer(work, offer, { campaign_id: copy.id });
  return copy;
}

/**
 * Duplicates an offer with its creatives within the same campaign. The copy is paused, and its headline marks it as a
 * copy.
 * @throws AppError resource_not_found
 */
export async function duplicateOffer(work: Work, id: string): Promise<View> {
  const offer = await getRow(offers, work, id);
  const nameField = offer.title !== '' ? 'title' : 'short_headline';
  const name = copyNameOf(offer[nameField], offerLimits[nameField].maxLength);
  return copyOffer(work, offer, { active: false, [nameField]: name });
}

async function copyOffer(work: Work, offer: View, changes: Values): Promise<View> {
  const copy = await createRow(offers, work, { ...inputOf(offers, offer), ...changes });
  for (const creative of await rowsOf(creatives, work, 'offer_id', offer.id)) {
    const values = { ...inputOf(creatives, creative), offer_id: copy.id };
    // Skip the checks, because the image was already validated when it was uploaded.
    const { id } = await createRow({ ...creatives, check: () => [] }, work, values);
    await work.executor.query(
      `insert into creative_images (creative_id, bytes, sha256)
      select $1, bytes, sha256 from creative_images where creative_id = $2`,
      [id, creative.id],
    );
  }
  return copy;
}

const inputOf = ({ input }: Resource, view: View): Values =>
  Object.fromEntries(Object.keys(input.properties).map((name) => [name, view[name]]));

async function rowsOf(resource: Resource, work: Work, column: string, id: unknown): Promise<View[]> {
  const { rows } = await work.executor.query<Values>(
    `select ${columnsOf(resource, work)} from ${resource.table}
    where ${column} = $1 and deleted_at is null order by id`,
    [id],
  );
  return rows.map(viewOf);
}
