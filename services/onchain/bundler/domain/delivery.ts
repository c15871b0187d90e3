/** A bundle counts as paying too little once this many blocks left it out. */
export const BLOCKS_LEFT_OUT = 3;
/** First pause of an executor after a node refused its bundle: the node may refuse every bundle for a while. */
const REFUSED_FIRST_MS = 100;
const REFUSED_MAX_MS = 5_000;

/**
 * What this process knows about the delivery of an executor's pending bundle to the node. Not stored: after a crash,
 * the next process sends the bundle again. Times are by the monotonic clock.
 */
export interface Delivery {
  /** When the bundle was last sent. */
  sentAt: number;
  /** Whether a block came after `sentAt`. */
  hasBlockSince: boolean;
  /** Number of blocks that left the bundle out at its present fees. */
  blocksLeftOut: number;
  /** Whether a node said that the bundle's nonce is used. */
  isNonceUsed: boolean;
  /**
   * Whether a node may have accepted the bundle. `false` after a bundle is signed, until a node answers without
   * refusing the bundle, or does not answer.
   */
  mayBeKnown: boolean;
  /** Whether a node has taken the bundle, as far as this process knows. */
  isTaken: boolean;
  /** How often in a row nodes said that the bundle pays too little, since the bundle was signed or a node last took it. */
  tipRefusals: number;
  /** How often in a row a node refused a bundle of this executor. */
  refusals: number;
  /** The executor signs no new bundle before this time. */
  waitsUntil: number;
  /** Number of checks that found the nonce used in a final block, but no receipt of the bundle. */
  receiptsMissed: number;
}

export const initialDelivery: Delivery = {
  sentAt: 0,
  hasBlockSince: false,
  blocksLeftOut: 0,
  isNonceUsed: false,
  mayBeKnown: true,
  isTaken: false,
  tipRefusals: 0,
  refusals: 0,
  waitsUntil: 0,
  receiptsMissed: 0,
};

/** Returns the state after a new bundle was signed. */
export const signed = (delivery: Delivery): Delivery => ({
  ...delivery,
  blocksLeftOut: 0,
  isNonceUsed: false,
  mayBeKnown: false,
  isTaken: false,
  tipRefusals: 0,
  receiptsMissed: 0,
});

/** Returns the state after the bundle got new fees, or cannot get higher ones: blocks are counted from zero. */
export const repriced = (delivery: Delivery): Delivery => ({ ...delivery, blocksLeftOut: 0 });

export const sent = (delivery: Delivery, nowMs: number): Delivery => ({
  ...delivery,
  sentAt: nowMs,
  hasBlockSince: false,
});

export const onNewBlock = (delivery: Delivery): Delivery => ({
  ...delivery,
  hasBlockSince: true,
  blocksLeftOut: delivery.blocksLeftOut + 1,
});

/** Returns the state after a node did not answer, and may have the bundle. Also used after a bundle was withdrawn. */
export const maybeKnown = (delivery: Delivery): Delivery => ({ ...delivery, mayBeKnown: true });

/** Returns the state after a node answered and did not refuse the bundle. */
export const answered = (
  delivery: Delivery,
  { isTaken = false, isNonceUsed, isUnderpriced }: { isTaken?: boolean; isNonceUsed: boolean; isUnderpriced: boolean },
): Delivery => ({
  ...maybeKnown(delivery),
  isTaken: delivery.isTaken || isTaken,
  tipRefusals: 0,
  refusals: 0,
  isNonceUsed: delivery.isNonceUsed || isNonceUsed,
  // If the node calls a bundle underpriced, its fees are raised at once, as if blocks had left the bundle out.
  blocksLeftOut: isUnderpriced ? BLOCKS_LEFT_OUT : delivery.blocksLeftOut,
});

/** Returns the state after a node said that a bundle pays too little, which another node may have. */
export const tipRefused = (delivery: Delivery): Delivery => ({ ...delivery, tipRefusals: delivery.tipRefusals + 1 });

/**
 * Returns the state after a refusal: the executor pauses for 100 ms after the first refusal in a row, and twice as long
 * after each further one, at most 5 s.
 */
export const refused = (delivery: Delivery, nowMs: number): Delivery => ({
  ...delivery,
  waitsUntil: nowMs + Math.min(REFUSED_MAX_MS, REFUSED_FIRST_MS * 2 ** delivery.refusals),
  refusals: delivery.refusals + 1,
});

export const receiptMissed = (delivery: Delivery): Delivery => ({
  ...delivery,
  receiptsMissed: delivery.receiptsMissed + 1,
});
