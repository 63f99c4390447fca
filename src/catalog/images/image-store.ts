/**
 * Keeps originals under the SHA-256 of their bytes (hex), so that what is there never changes and equal pictures are
 * kept once.
 */
export type ImageStore = {
  /** Resolves when the bytes are durable; a repeat changes nothing. */
  put: (sha256: string, bytes: Buffer) => Promise<void>;
  /** Null: not found. Rejects when the image store does not answer. */
  get: (sha256: string) => Promise<Buffer | null>;
};
