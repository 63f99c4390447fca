export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** User data (docs/reference/fetch-offers.md#request-body), the same for requests and templates. */
export type UserPayload = {
  /** Page or section where the offers appear; required by the server. */
  placement?: string;
  /** End user's user agent. */
  ua?: string;
  /** End user's IP address. */
  ip?: string;
  /** Fingerprint of the end user, alphanumeric. */
  ad_fp?: string;
  /** Stable, non-PII id of the end user; required for the wallet and for User Selected Perks. */
  pub_user_id?: string;
  /** SHA-256 of the end user's email address in lower case, as 64 hex digits; finds the user in audiences. */
  email_sha256?: string;
  /** ISO 3166-1 alpha-2 code that overrides the country of the IP address. */
  country?: string;
  /** Language of the end user, BCP 47, such as "pt-BR". Default: from Accept-Language. */
  language?: string;
  /** "1" for test responses; nothing is recorded. */
  dev?: string;
  themeId?: string | number;
  [custom: string]: JsonValue | undefined;
};

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses JSON text; undefined if it is not valid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
