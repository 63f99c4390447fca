/** User and password of a URL, percent-decoded, empty where there is none; null: they cannot be decoded. */
export function credentialsOf({ username, password }: URL): { user: string; password: string } | null {
  try {
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    return null;
  }
}
