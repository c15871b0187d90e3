import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { Topic } from '../../../schemas/topics.ts';
import { deriveKey } from '../../keys/derive-key.ts';
import type { MessageToPublish } from '../message-bus.ts';

/** A CloudEvents extension attribute, whose name may have lower-case letters and digits only. */
export const MAC_HEADER = 'ce_annalsmac';
/** 128 bits cannot be guessed. */
const MAC_BYTES = 16;

type Named = Pick<Topic, 'name'>;
type Message = Pick<MessageToPublish, 'key' | 'headers' | 'value'>;

/**
 * Distinguishes the relay's messages from anybody else's. The header `ce_annalsmac` is the base64url of the first 16
 * bytes of an HMAC-SHA-256 over the topic's name, the key, every other header that begins with `ce_`, and the value.
 */
export class MessageMacs {
  private readonly key: KeyObject;

  constructor(edgeKey: Uint8Array) {
    this.key = createSecretKey(deriveKey(edgeKey, 'bus messages'));
  }

  sign<Signed extends Message>(topic: Named, message: Signed): Signed {
    const mac = this.mac(topic, message).toString('base64url');
    return { ...message, headers: { ...message.headers, [MAC_HEADER]: mac } };
  }

  /** `unsigned`: published by a relay of an earlier version, which did not sign. */
  check(topic: Named, message: Message): 'signed' | 'unsigned' | 'forged' {
    const given = message.headers[MAC_HEADER];
    if (given === undefined) return 'unsigned';
    const bytes = Buffer.from(given, 'base64url');
    return bytes.length === MAC_BYTES && timingSafeEqual(bytes, this.mac(topic, message)) ? 'signed' : 'forged';
  }

  /** Each text is preceded by its length, so that no characters can move from one text to the next. */
  private mac({ name }: Named, { key, headers, value }: Message): Buffer {
    let text = `${String(name.length)} ${name} ${String(key.length)} ${key}`;
    for (const header of Object.keys(headers).sort()) {
      if (!header.startsWith('ce_') || header === MAC_HEADER) continue;
      const content = headers[header] ?? '';
      text += ` ${String(header.length)} ${header} ${String(content.length)} ${content}`;
    }
    const hmac = createHmac('sha256', this.key).update(value === null ? `${text} null` : `${text} value ${value}`);
    return hmac.digest().subarray(0, MAC_BYTES);
  }
}
