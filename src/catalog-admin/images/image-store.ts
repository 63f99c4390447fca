/**
 * Stores originals under the SHA-256 of their bytes (hex). Stored objects never change, and equal pictures are stored
 * once.
 */
export type ImageStore = {
  /** Resolves when the bytes are durable. Idempotent. */
  put: (sha256: string, bytes: Buffer) => Promise<void>;
  /** Returns null if there is no such picture. Rejects if the image store does not respond. */
  get: (sha256: string) => Promise<Buffer | null>;
};
