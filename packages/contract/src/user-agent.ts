/** How ToolHive names itself in its requests. Many firewalls and hosts refuse requests without a name. */
export const userAgent = 'toolhive';
