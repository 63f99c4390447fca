/** Older spellings of names, all in one place: accepted beside the new ones, and sent beside them. */

type Fields = Record<string, unknown>;

/** Old request field → the field it means. The new spelling wins where both are given. */
const requestNames = { adpx_fp: 'ad_fp', fingerprint: 'ad_fp', user_agent: 'ua', theme_id: 'themeId' } as const;

const renames = Object.entries(requestNames);

export const oldRequestNames: ReadonlySet<string> = new Set(Object.keys(requestNames));

/** A request body in which old field names also stand under their new ones. */
export function withNewRequestNames<Body extends Fields>(body: Body): Body {
  let renamed: Fields = body;
  for (const [old, name] of renames) {
    if (body[old] === undefined || body[name] !== undefined) continue;
    renamed = { ...renamed, [name]: renamed[name] ?? body[old] };
  }
  return renamed as Body;
}

/** An offer, or a campaign of the webhook, with its old field names added. */
export function withOldOfferNames<
  Entry extends { is_loyalty: unknown; loyalty_requirements: unknown; wallet_enabled: unknown },
>(entry: Entry) {
  return {
    ...entry,
    is_loyaltyboost: entry.is_loyalty,
    loyaltyboost_requirements: entry.loyalty_requirements,
    perkswallet_enabled: entry.wallet_enabled,
  };
}
