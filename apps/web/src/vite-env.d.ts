declare module 'virtual:colors.css' {}
