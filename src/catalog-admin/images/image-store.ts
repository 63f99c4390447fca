/**
 * Stores original images under the SHA-256 of their bytes (hex). Stored objects are immutable, and identical images are
 * stored once.
 */
export type ImageStore = {
  /** Stores an image. Resolves when the bytes are durable. Idempotent. */
  put: (sha256: string, bytes: Buffer) => Promise<void>;
  /** Returns an image, or null if it is not stored. Rejects if the image store does not respond. */
  get: (sha256: string) => Promise<Buffer | null>;
};
