export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** User data (docs/reference/fetch-offers.md#request-body). Requests and web view templates use the same fields. */
export type UserPayload = {
  /** Page or section where the offers appear. Required by the server. */
  placement?: string;
  /** User agent of the end user. */
  ua?: string;
  /** IP address of the end user. */
  ip?: string;
  /** Alphanumeric fingerprint of the end user. */
  ad_fp?: string;
  /** Stable, non-PII ID of the end user. Required for the wallet and for User Selected Perks. */
  pub_user_id?: string;
  /** SHA-256 of the end user's lower-case e-mail address, as 64 hex digits. Used to look up the user's audiences. */
  email_sha256?: string;
  /** ISO 3166-1 alpha-2 country code. Overrides the country derived from the IP address. */
  country?: string;
  /** BCP 47 language of the end user, such as "pt-BR". Defaults to Accept-Language. */
  language?: string;
  /** "1" returns test responses and records nothing. */
  dev?: string;
  themeId?: string | number;
  [custom: string]: JsonValue | undefined;
};

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses JSON text. Returns undefined if it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
