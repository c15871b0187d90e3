/** Tells whether a user's smart account is still needed. The on-chain half of the system knows. */
export abstract class SmartAccountUse {
  /**
   * Returns what the account is used for, as the end of a sentence that begins with the account ("has a send under way …");
   * `undefined` where nothing is lost with its key. A chain that is not served any more is not asked.
   * @throws Refusal dependency_unavailable while the chain does not answer
   */
  abstract useOf(account: { chainId: number; address: string }): Promise<string | undefined>;
}
