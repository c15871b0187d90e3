import { z } from 'zod';
import { COSIGNATURE, NotANote, parseVkey } from '../transparency-log/signed-note.ts';

/** C2SP signed-note: every reader takes 16 signatures. One of them is the log's. */
const WITNESSES_MAX = 15;

const witnessUrl = z
  .string()
  .refine((text) => {
    const { protocol, username, password, search, hash } = URL.parse(text) ?? { protocol: '' };
    return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === '');
  }, 'is not an http or https URL without user name, query and fragment: the one below which the witness has /add-checkpoint')
  .transform((text) => text.replace(/\/+$/, ''));

const witnessVkey = z.string().superRefine((text, context) => {
  const refuse = (message: string) => {
    context.addIssue({ code: 'custom', message });
  };
  try {
    if (parseVkey(text).type !== COSIGNATURE)
      refuse('is the key of a log: a witness has one for cosignatures of its own, of the type Ed25519 cosignature/v1');
  } catch (error) {
    if (!(error instanceof NotANote)) throw error;
    refuse('is not the key of a witness: it must be <name>+<id>+<base64>, as the witness prints it');
  }
});

/** Witnesses of the transparency log, and their keys (C2SP tlog-witness). */
export const logWitnesses = z
  .array(z.strictObject({ url: witnessUrl, vkey: witnessVkey }))
  .max(WITNESSES_MAX, `has more than ${String(WITNESSES_MAX)} witnesses`)
  .refine((all) => new Set(all.map(({ vkey }) => vkey)).size === all.length, 'names a witness twice');
