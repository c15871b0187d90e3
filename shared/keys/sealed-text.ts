import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts with AES-256-GCM.
 * @param context authenticated with the text and needed to decrypt it, such as the name of the file that stores it
 * @returns base64 of nonce, tag and ciphertext
 */
export const sealText = (key: Uint8Array, context: string, text: string): string => {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64');
};

/** @throws if the key or the context differs, or a byte was changed */
export const openText = (key: Uint8Array, context: string, sealedText: string): string => {
  const bytes = Buffer.from(sealedText, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
};

/** Returns the text; `undefined` where `openText` throws. */
export const tryOpenText = (...sealed: Parameters<typeof openText>): string | undefined => {
  try {
    return openText(...sealed);
  } catch {
    return undefined;
  }
};
