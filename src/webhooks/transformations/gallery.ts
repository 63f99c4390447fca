import type { Transformation } from './evaluators.ts';

/** Ready-made transformation. `key` is the name of the service, with underscores in place of spaces. */
export type GalleryEntry = { key: string; transformation: Transformation };

/* Webhook IDs begin with the time of the event. The current time would be wrong if the webhook is retried later. */
const createdAt = '$fromMillis($number("0x" & $substring($webhook_id, 4, 12)))';

const slack = `(
  $escape := function($value) {
    $string($value) ~> $replace("&", "&amp;") ~> $replace("<", "&lt;") ~> $replace(">", "&gt;")
  };
  $text := $event = "usp.selection"
    ? "User " & body.pub_user_id & " selected " & (body.campaigns ? $join(body.campaigns.title, ", ") : "no offers")
    : $event = "conversion"
    ? "Conversion of user " & pub_user_id & ": " & payout & " " & currency & " (" & advertiser_name & ")"
    : $event = "offer_saved" or $event = "offer_removed"
    ? "User " & pub_user_id & ": " & headline
    : $string($);
  { "text": "*" & $event & "*\\n" & $escape($text) }
)`;

const hubspot = `{
  "inputs": [
    {
      "idProperty": "customer_id",
      "id": body ? body.pub_user_id : pub_user_id,
      "properties": {
        "last_perk_event": $event,
        "last_perk": body ? $join(body.campaigns.title, ", ") : headline ? headline : advertiser_name,
        "last_perk_at": timestamp ? timestamp : ${createdAt}
      }
    }
  ]
}`;

const klaviyo = `{
  "data": {
    "type": "event",
    "attributes": {
      "unique_id": $webhook_id,
      "time": timestamp ? timestamp : ${createdAt},
      "value": payout,
      "value_currency": currency,
      "properties": body
        ? { "selected": body.selected, "offers": [body.campaigns.title] }
        : { "offer_id": offer_id, "offer": headline, "advertiser": advertiser_name },
      "metric": { "data": { "type": "metric", "attributes": { "name": "Perkwire " & $event } } },
      "profile": {
        "data": {
          "type": "profile",
          "attributes": { "external_id": body ? body.pub_user_id : pub_user_id }
        }
      }
    }
  }
}`;

/* Google Sheets runs a text that starts like a formula, such as a user ID from a browser. */
const googleSheets = `(
  $safe := function($value) { $contains($value, /^[=+@\\t\\r-]/) ? "'" & $value : $value };
  {
    "values": [
      [
        timestamp ? timestamp : ${createdAt},
        $event,
        $safe(body ? body.pub_user_id : pub_user_id ? pub_user_id : ""),
        $safe(body ? $join(body.campaigns.title, ", ") : headline ? headline : advertiser_name ? advertiser_name : ""),
        payout ? payout : "",
        currency ? currency : "",
        $webhook_id
      ]
    ]
  }
)`;

/** Transformations for well-known services (docs/guides/transformations.md#gallery). */
export const gallery: readonly GalleryEntry[] = [
  { key: 'Slack', transformation: { body: slack } },
  { key: 'HubSpot', transformation: { body: hubspot } },
  {
    key: 'Klaviyo',
    transformation: {
      body: klaviyo,
      headers: '{ "revision": "2026-07-15", "content-type": "application/vnd.api+json" }',
    },
  },
  { key: 'Google_Sheets', transformation: { body: googleSheets } },
];
