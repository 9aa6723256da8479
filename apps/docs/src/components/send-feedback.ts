/** The form for new issues of a code host, which the site opens instead of sending data. */
export const isIssueForm = (to: string): boolean => new URL(to).pathname.endsWith('/issues/new');

/** Sends feedback about the open page. Returns whether the feedback arrived. */
export async function sendFeedback(
  to: string,
  said: { message: string } | { helpful: boolean },
): Promise<boolean> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ page: window.location.pathname, ...said });
  return fetch(to, { method: 'POST', headers, body }).then(
    ({ ok }) => ok,
    () => false,
  );
}
