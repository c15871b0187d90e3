/** Injection token of `StreamLimits`. */
export const STREAM_LIMITS = Symbol('StreamLimits');
/** Injection token of `SubscriptionCommands`. */
export const SUBSCRIPTIONS = Symbol('SubscriptionCommands');
/** Injection token of `StreamPages`. */
export const STREAM_PAGES = Symbol('StreamPages');
/** Injection token of `LiveTail`. */
export const LIVE_TAIL = Symbol('LiveTail');
/** Injection token of `StreamMetrics`. */
export const STREAM_METRICS = Symbol('StreamMetrics');
