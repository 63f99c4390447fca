/**
 * Stores original images, keyed by the SHA-256 of their bytes (hex). Stored objects are immutable, and identical images
 * are stored only once.
 */
export type ImageStore = {
  /** Stores an image. Resolves once the bytes are stored durably. Idempotent. */
  put: (sha256: string, bytes: Buffer) => Promise<void>;
  /** Returns an image, or null if it is not stored. Rejects if the image store does not respond. */
  get: (sha256: string) => Promise<Buffer | null>;
};
